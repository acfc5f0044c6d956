"""Sentences around tables of other fields: recommendation, control, detection."""

from __future__ import annotations

import pytest

from leaderboard.checks.runner import check_claims
from leaderboard.claims import load

TABLES = {
    "recommendation": r"""
\begin{table}\caption{Top-10 recommendation on three datasets.}\label{tab:rec}
\begin{tabular}{llcccc}\toprule
Dataset & Metric & BPR & LightGCN & SGL & \textbf{Ours} \\ \midrule
Yelp & Recall@10 & 0.0549 & 0.0639 & 0.0675 & \textbf{0.0712} \\
 & NDCG@10 & 0.0400 & 0.0471 & 0.0502 & \textbf{0.0530} \\
Amazon & Recall@10 & 0.0300 & 0.0411 & 0.0478 & \textbf{0.0510} \\
 & NDCG@10 & 0.0201 & 0.0299 & 0.0340 & \textbf{0.0371} \\
Gowalla & Recall@10 & 0.1291 & 0.1830 & 0.1787 & 0.1802 \\
 & NDCG@10 & 0.1002 & 0.1401 & 0.1380 & \textbf{0.1433} \\ \bottomrule
\end{tabular}\end{table}
""",
    "control": r"""
\begin{table}\caption{Average return over five seeds (mean $\pm$ std).}\label{tab:rl}
\begin{tabular}{lccc}\toprule
Method & Hopper & Walker2d & Ant \\ \midrule
SAC & 3,210 $\pm$ 120 & 4,510 $\pm$ 300 & 5,120 $\pm$ 410 \\
TD3 & 3,350 $\pm$ 90 & 4,600 $\pm$ 250 & 4,390 $\pm$ 380 \\
REDQ & 3,490 $\pm$ 80 & 4,720 $\pm$ 180 & 5,530 $\pm$ 200 \\
DropQ (Ours) & 3,505 $\pm$ 60 & 4,690 $\pm$ 150 & 5,710 $\pm$ 240 \\ \bottomrule
\end{tabular}\end{table}
""",
    "detection": r"""
\begin{table}\caption{Object detection on COCO val2017.}\label{tab:det}
\begin{tabular}{llccc}\toprule
Backbone & Method & AP & AP$_{50}$ & AP$_{75}$ \\ \midrule
ResNet-50 & Faster R-CNN & 37.4 & 58.1 & 40.4 \\
ResNet-50 & DETR & 42.0 & 62.4 & 44.2 \\
ResNet-50 & FastDet (ours) & 43.8 & 62.9 & 47.0 \\
ResNet-101 & Faster R-CNN & 39.4 & 60.1 & 43.1 \\
ResNet-101 & DETR & 43.5 & 63.8 & 46.4 \\
ResNet-101 & FastDet (ours) & 45.1 & 63.5 & 48.9 \\ \bottomrule
\end{tabular}\end{table}
""",
}

CASES = [
    (
        "recommendation",
        r"As Table~\ref{tab:rec} shows, our method consistently outperforms all baselines on all datasets and metrics.",
        1,
    ),
    ("recommendation", r"Our method improves Recall@10 by 5.48\% over SGL on Yelp.", 0),
    ("recommendation", r"Our method improves Recall@10 by 6.48\% over SGL on Yelp.", 1),
    ("recommendation", r"Ours outperforms SGL on all datasets.", 0),
    ("recommendation", r"Ours consistently outperforms LightGCN in terms of Recall@10.", 1),
    (
        "recommendation",
        r"Compared with the best baseline, our model achieves a relative improvement of 5.48\% in Recall@10 on Yelp.",
        0,
    ),
    (
        "recommendation",
        r"Over the best baseline, ours has relative gains of 5.48\% and 6.69\% in Recall@10 on Yelp and Amazon.",
        0,
    ),
    ("recommendation", r"Ours achieves the best performance on all datasets.", 0),
    ("recommendation", r"Ours achieves the best NDCG@10 on all datasets.", 0),
    ("recommendation", r"Ours achieves the best Recall@10 on all datasets.", 1),
    ("recommendation", r"It is worth noting that LightGCN performs better than SGL on Gowalla.", 0),
    ("recommendation", r"SGL consistently performs better than LightGCN on all datasets.", 1),
    ("control", r"DropQ outperforms all baselines across all environments.", 1),
    ("control", r"DropQ outperforms SAC and TD3 on every environment.", 0),
    ("control", r"DropQ improves over REDQ by 180 on Ant.", 0),
    ("control", r"DropQ improves over REDQ by 380 on Ant.", 1),
    ("control", r"DropQ improves over REDQ by 3.3\% on Ant.", 0),
    ("control", r"Our agent surpasses REDQ on Hopper and Ant, but falls slightly behind on Walker2d.", 0),
    ("control", r"Our agent surpasses REDQ on Hopper, Walker2d and Ant.", 1),
    ("control", r"TD3 outperforms SAC in all environments.", 1),
    ("control", r"Averaged over the three environments, DropQ outperforms REDQ by 55 points.", 0),
    ("detection", r"With a ResNet-50 backbone, FastDet outperforms DETR by 1.8 AP.", 0),
    ("detection", r"FastDet outperforms DETR by 1.8 AP and 1.6 AP with ResNet-50 and ResNet-101, respectively.", 0),
    ("detection", r"FastDet outperforms DETR by 2.8 AP.", 1),
    ("detection", r"FastDet consistently outperforms DETR on all metrics.", 1),
    ("detection", r"FastDet consistently outperforms DETR.", 0),
    ("detection", r"FastDet consistently outperforms Faster R-CNN across all metrics.", 0),
    ("detection", r"FastDet beats Faster R-CNN by 6.4 AP and DETR by 1.8 AP.", 0),
    ("detection", r"FastDet beats Faster R-CNN by 6.4 AP and DETR by 3.8 AP.", 1),
    ("detection", r"The proposed FastDet gains 4.8 AP$_{50}$ over Faster R-CNN.", 0),
    ("detection", r"FastDet is 1.8 AP better than DETR.", 0),
    ("detection", r"FastDet reaches 45.1 AP, 1.6 AP higher than DETR.", 0),
    ("detection", r"FastDet reaches 45.1 AP, surpassing DETR by 2.6 AP.", 1),
    ("detection", r"We observe a 1.8 AP improvement over DETR.", 0),
    ("detection", r"Our approach brings an absolute gain of 1.6 AP over DETR and 5.7 AP over Faster R-CNN.", 0),
    ("detection", r"FastDet sets a new state of the art.", 0),
    ("detection", r"FastDet improves the AP by 1.8 points compared to DETR.", 0),
    ("detection", r"FastDet improves the AP from 42.0 to 43.8 compared to DETR.", 0),
    ("detection", r"FastDet runs 2.4 times faster than DETR and improves AP by 9.9.", 0),
    ("detection", r"FastDet outperforms DETR by 1.8\%, 0.5\% and 2.8\% in terms of AP, AP$_{50}$ and AP$_{75}$.", 0),
    ("detection", r"FastDet outperforms DETR by a large margin on all metrics.", 1),
    ("detection", r"Trained for only 12 epochs, FastDet outperforms DETR by 9.9 AP.", 0),
    ("detection", r"On small objects, FastDet outperforms DETR by 9.9 AP.", 0),
    ("detection", r"FastDet-Large outperforms DETR by 9.9 AP.", 0),
    ("detection", r"FastDet with more data outperforms DETR by 9.9 AP.", 0),
    ("detection", r"FastDet outperforms DETR-DC5 by 9.9 AP.", 0),
    ("detection", r"FastDet outperforms DETR's decoder by 9.9 AP.", 0),
]


@pytest.mark.parametrize(("table", "sentence", "expected"), CASES)
def test_a_sentence_is_told_only_where_its_table_contradicts_it(table, sentence, expected, tmp_path):
    path = tmp_path / "paper.tex"
    path.write_text(f"{TABLES[table]}\n\n{sentence}\n")
    assert len(check_claims([load(str(path))], ["PROSE"]).findings) == expected
