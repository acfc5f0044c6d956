#!/usr/bin/env bash
# A real SLURM of one node on loopback, for the tests of `--backend slurm`.
#     eval "$(.ci/slurm.sh start [FOLDER])"    installs Debian's packages where they are not there, starts, exports SLURM_CONF
#     .ci/slurm.sh stop                        stops what SLURM_CONF's folder says was started, by process id
set -euo pipefail

say() { echo "slurm.sh: $*" >&2; }

install() {
  command -v slurmctld sbatch slurmd munged >/dev/null && return
  say "installing slurmctld, slurmd, slurm-client and munge"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      slurmctld slurmd slurm-client munge; } >&2
}

configure() {
  local folder=$1 node
  node=$(hostname -s)
  mkdir -p "$folder/state" "$folder/spool"
  cat > "$folder/slurm.conf" <<CONF
ClusterName=tiny
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=10
MinJobAge=300
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1
NodeName=$node NodeAddr=127.0.0.1 CPUs=${SLURM_CPUS:-2} RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10
CONF
}

start() {
  local folder=${1:-$(mktemp -d -t initbench-slurm.XXXXXX)}
  [ "$(id -u)" = 0 ] || { say "needs root: munged and slurmctld run as system users"; exit 1; }
  install
  configure "$folder"
  mkdir -p /run/munge && chown munge: /run/munge
  if ! pidof munged >/dev/null; then
    su -s /bin/sh munge -c /usr/sbin/munged >&2
    cp /run/munge/munged.pid "$folder/munged.pid"
  fi
  export SLURM_CONF=$folder/slurm.conf
  slurmctld >&2
  slurmd -N "$(hostname -s)" >&2
  for _ in $(seq 60); do
    if sinfo -h -p main -o %T 2>/dev/null | grep -q idle; then
      echo "export SLURM_CONF=$SLURM_CONF"
      return
    fi
    sleep 1
  done
  say "no idle node after a minute"; tail -n 20 "$folder"/*.log >&2; SLURM_CONF=$SLURM_CONF stop; exit 1
}

stop() {
  local folder pid
  folder=$(dirname "${SLURM_CONF:?no SLURM was started}")
  scancel --me --state=RUNNING 2>/dev/null || true
  for daemon in slurmd slurmctld munged; do
    pid=$(cat "$folder/$daemon.pid" 2>/dev/null) || continue
    kill "$pid" 2>/dev/null || true
  done
}

case ${1:-} in
  start) start "${2:-}" ;;
  stop) stop ;;
  *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
esac
