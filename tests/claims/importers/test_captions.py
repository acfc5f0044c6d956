"""What captions say: which metric was measured and which way is better, under which conditions, on how many items."""

from __future__ import annotations

import pytest

from leaderboard.claims.importers.captions import budget_in, items_in, model_in, setting_in
from leaderboard.claims.importers.mentions import metric_named, metrics_in

NAMES = [
    "Accuracy",
    "Acc.",
    "Top-1",
    "top-1 accuracy",
    "WER",
    "CER",
    "EER",
    "FID",
    "AUC",
    "AUROC",
    "ROC-AUC",
    "AUPRC",
    "MAE",
    "RMSE",
    "MSE",
    "BLEU",
    "ROUGE-L",
    "mAP",
    "AP",
    "F1",
    "Micro-F1",
    "Macro-F1",
    "F1-score",
    "mIoU",
    "Dice",
    "DSC",
    "PSNR",
    "SSIM",
    "LPIPS",
    "Success rate",
    "HD95",
    "EM",
    "Perplexity",
    "PPL",
    "R@1",
    "Recall@10",
    "NDCG@10",
    "MRR",
    "OA",
    "Kappa",
    "Return",
    "Latency",
    "ECE",
    "NLL",
    "MCC",
    "Spearman",
    "Normalized score",
    "pass@1",
    "SI-SDR",
    "PESQ",
    "MOS",
    "Chamfer distance",
    "bpc",
    "R2",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_read_in_a_heading_is_read_in_a_caption(latex_table, name):
    heading = latex_table(f"Method & {name} \\\\ \\midrule\nMask & 0.5 \\\\", 1, "Results")
    caption = latex_table("Method & Foo \\\\ \\midrule\nMask & 0.5 \\\\", 1, f"{name} on a benchmark.")
    assert heading.claims[0].scope.metric is not None
    assert caption.claims[0].scope.metric == heading.claims[0].scope.metric


@pytest.mark.parametrize(
    "caption",
    [
        "Accuracy-efficiency trade-off on a benchmark.", "Trade-off between accuracy and latency.",
        "Comparison with different loss functions.", "Ablation of the contrastive loss.", "MAE pre-training.",
        "Comparison of DER, ER and MAE.", "Results as per standard protocol.", "FID and IS on CIFAR-10.",
        "Results (MSE / MAE).", "Effect of the reward on PPO.", "Models are selected by validation loss.",
    ],
)  # fmt: skip
def test_a_metric_that_was_not_what_the_table_measures_is_not_taken(caption):
    assert metric_named(caption) is None


@pytest.mark.parametrize(
    ("caption", "metric", "direction"),
    [
        ("WER (%) ↓ on LibriSpeech.", "WER", "min"), ("WER (%, ↓) on LibriSpeech.", "WER", "min"),
        ("HD95 (mm) ↓ on Synapse", "HD95", "min"), ("Accuracy (%). ↑: higher is better.", "accuracy", "unknown"),
        ("Test accuracy. Selected by validation loss.", "accuracy", "unknown"),
    ],
)  # fmt: skip
def test_an_arrow_behind_the_metric_is_its_direction(caption, metric, direction):
    said = metric_named(caption)
    assert said is not None
    assert (said.found.called, said.direction) == (metric, direction)


def test_each_of_two_metrics_has_its_own_arrow_and_named_columns_take_it(latex_table):
    caption = "Segmentation, Dice (\\%) $\\uparrow$ and HD95 (mm) $\\downarrow$"
    assert [item.direction for item in metrics_in("Dice (%) ↑ and HD95 (mm) ↓")] == ["max", "min"]
    claims = latex_table("Method & Dice & HD95 \\\\ \\midrule\nMask & 81.1 & 9.2 \\\\", 2, caption).claims
    assert [claim.direction for claim in claims] == ["max", "min"]


@pytest.mark.parametrize(
    ("caption", "budget", "model", "setting", "items"),
    [
        ("Accuracy after 300 epochs.", "300 epochs", None, None, None),
        ("mIoU, 160k iterations.", "160000 iterations", None, None, None),
        ("With a ResNet-50 backbone.", None, "ResNet-50", None, None),
        ("ResNet-50 and ResNet-101.", None, None, None, None),
        ("With ViT-B/16.", None, "ViT-B/16", None, None), ("R2 on a benchmark.", None, None, None, None),
        ("1-shot accuracy.", None, None, "1 shot", None),
        ("Under 20% label noise.", None, None, "20 % label noise", None),
        ("Robust accuracy under PGD-20.", None, None, "pgd 20; robust", None),
        ("With half of the data.", None, None, "half of the data", None),
        ("On the test set (N=250 images), single run.", None, None, None, 250),
        ("1,000 test questions", None, None, None, 1000),
        ("Accuracy on the 250-image test set.", None, None, None, 250),
        ("Trained on 1,000 images.", None, None, None, None), ("Over 5 seeds (n=5).", None, None, None, None),
        ("250 test images per class", None, None, None, None),
    ],
)  # fmt: skip
def test_conditions_are_read(caption, budget, model, setting, items):
    found = budget_in(caption), model_in(caption, []), setting_in(caption), items_in(caption)
    assert found == (budget, model, setting, items)


def test_a_number_of_items_is_not_spread_over_several_data_sets(latex_table):
    rows = "Method & CIFAR-10 & SVHN \\\\ \\midrule\nMask & 91.1 & 92.2 \\\\"
    assert {claim.items for claim in latex_table(rows, 2, "Accuracy (\\%) on 250 test images").claims} == {None}


def test_the_percent_of_a_condition_is_no_unit(latex_table):
    result = latex_table("Method & Foo \\\\ \\midrule\nMask & 0.91 \\\\", 1, "Accuracy under 20\\% label noise")
    assert [claim.unit for claim in result.claims] == ["fraction"]


@pytest.mark.parametrize(
    ("caption", "names"),
    [
        ("MVTec AD: image-level AUROC / pixel-level AUROC (\\%).", ["image-level AUROC", "pixel-level AUROC"]),
        ("Anomaly detection, I-AUROC / P-AUROC (\\%).", ["I-AUROC", "P-AUROC"]),
        ("Anomaly detection. Image / pixel AUROC (\\%).", ["Image AUROC", "pixel AUROC"]),
    ],
)
def test_a_caption_that_names_two_kinds_of_one_metric_in_order_reads_cells_of_two(latex_table, caption, names):
    result = latex_table("Method & Carpet \\\\ \\midrule\nA & 99.8 / 99.0 \\\\ Ours & 98.8 / 97.0 \\\\", 1, caption)
    assert [claim.scope.metric for claim in result.claims] == names * 2


@pytest.mark.parametrize(
    "caption", ["Results on GLUE / SuperGLUE accuracy.", "Train / test images.", "Teacher / student."]
)
def test_a_caption_with_a_slash_between_other_things_reads_no_cells_of_two(latex_table, caption):
    result = latex_table("Method & Carpet \\\\ \\midrule\nA & 99.8 / 99.0 \\\\ Ours & 98.8 / 97.0 \\\\", 1, caption)
    assert not result.claims
    assert len(result.unread) == 2
