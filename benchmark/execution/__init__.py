"""From a plan to shards in the store: processes, devices, time limits, retries and what is seen meanwhile."""
