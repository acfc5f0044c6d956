"""Augmentations: each operation against Pillow's, labels that keep their mass, draws that depend on the seed alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps

from tasks.augmentation import colour, erase, geometry, mix
from tasks.augmentation.pipeline import Pipeline, jittered
from tasks.augmentation.rand_augment import OPERATIONS, enhancement, rand_augment
from tasks.augmentation.recipe import Augmentation, RandAugment

FILL = (124, 30, 200)


def picture(kind, channels=3, size=(19, 23)):
    """Pixels (H, W, C) with edges, flat parts and noise."""
    rng = np.random.default_rng(7)
    if kind == "noise":
        return rng.integers(0, 256, (*size, channels), dtype=np.uint8)
    if kind == "flat":
        return np.full((*size, channels), 90, np.uint8)
    ramp = np.linspace(20, 220, size[1])[None, :, None] + np.linspace(0, 30, size[0])[:, None, None]
    return (ramp + rng.integers(0, 5, (*size, channels))).astype(np.uint8)


def as_tensor(*pixels):
    return torch.from_numpy(np.stack(pixels)).movedim(-1, 1).float()


def as_pillow(pixels):
    return Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels)


def as_pixels(image):
    array = np.asarray(image)
    return array[..., None] if array.ndim == 2 else array


def compare(found, images, *, most=0.0, by=0):
    """At most a share of the values may differ, by at most so many levels."""
    wanted = as_tensor(*[as_pixels(image) for image in images])
    difference = (found - wanted).abs()
    assert difference.max() <= max(by, 0), difference.max()
    assert (difference > 0).float().mean() <= most


PICTURES = [picture(kind, channels) for channels in (3, 1) for kind in ("noise", "flat", "ramp")]
BY_CHANNELS = [[p for p in PICTURES if p.shape[-1] == channels] for channels in (3, 1)]


@pytest.mark.parametrize("pixels", BY_CHANNELS, ids=["colour", "grey"])
@pytest.mark.parametrize("factor", [0.1, 0.37, 1.0, 1.81, 1.9])
@pytest.mark.parametrize("name", ["Color", "Contrast", "Brightness", "Sharpness"])
def test_enhancements_are_those_of_pillow(name, factor, pixels):
    function = getattr(colour, name.lower())
    found = function(as_tensor(*pixels), torch.full((len(pixels),), factor))
    compare(found, [getattr(ImageEnhance, name)(as_pillow(p)).enhance(factor) for p in pixels], most=0.01, by=1)


@pytest.mark.parametrize("pixels", BY_CHANNELS, ids=["colour", "grey"])
def test_tables_are_those_of_pillow(pixels):
    x, pillow = as_tensor(*pixels), [as_pillow(p) for p in pixels]
    count = len(pixels)
    compare(colour.invert(x), [ImageOps.invert(image) for image in pillow])
    compare(colour.equalize(x), [ImageOps.equalize(image) for image in pillow])
    compare(colour.auto_contrast(x), [ImageOps.autocontrast(image) for image in pillow], most=0.01, by=1)
    for bits in (1, 4, 7):
        compare(colour.posterize(x, torch.full((count,), float(bits))), [ImageOps.posterize(i, bits) for i in pillow])
    assert not colour.posterize(x, torch.zeros(count)).any()
    for threshold in (0, 26, 256):
        found = colour.solarize(x, torch.full((count,), float(threshold)))
        compare(found, [ImageOps.solarize(image, threshold) for image in pillow])
    table = [min(255, value + 99) if value < 128 else value for value in range(256)]
    found = colour.solarize_add(x, torch.full((count,), 99.0))
    compare(found, [image.point(table * len(image.getbands())) for image in pillow])


def through_pillow(pixels, matrix, fill):
    image = as_pillow(pixels)
    fill = fill[0] if image.mode == "L" else fill
    return image.transform(image.size, Image.Transform.AFFINE, tuple(matrix), Image.Resampling.BILINEAR, fillcolor=fill)


MAPS = {
    "shear_x": geometry.shear_x(np.array([0.27, -0.27, 0.1])),
    "shear_y": geometry.shear_y(np.array([0.27, -0.27, 0.1])),
    "shift_x": geometry.shift_x(np.array([3.0, -9.3, 0.5])),
    "shift_y": geometry.shift_y(np.array([3.0, -9.3, 0.5])),
    "rotation": geometry.rotation(np.array([27.0, -27.0, 5.0]), 19, 23),
}


@pytest.mark.parametrize("pixels", BY_CHANNELS, ids=["colour", "grey"])
@pytest.mark.parametrize("name", MAPS)
def test_affine_maps_are_those_of_pillow(name, pixels):
    fill = torch.tensor(FILL[: pixels[0].shape[-1]], dtype=torch.float32)
    found = geometry.affine(as_tensor(*pixels), MAPS[name], fill)
    images = [through_pillow(p, matrix, FILL) for p, matrix in zip(pixels, MAPS[name], strict=True)]
    compare(found, images, most=0.02, by=1)


def test_rotation_is_that_of_pillow():
    degrees = np.array([30.0, -12.0, 3.0])
    found = geometry.affine(as_tensor(*BY_CHANNELS[0]), geometry.rotation(degrees, 19, 23), torch.tensor(FILL).float())
    images = [
        as_pillow(p).rotate(angle, Image.Resampling.BILINEAR, fillcolor=FILL)
        for p, angle in zip(BY_CHANNELS[0], degrees, strict=True)
    ]
    compare(found, images, most=0.02, by=1)


def test_crops_are_resized_and_mirrored_as_in_pillow():
    crops = np.array([[2.0, 3, 11, 13], [0, 0, 19, 23], [5, 1, 7, 7]])
    flipped = np.array([False, True, True])
    found = geometry.cropped(as_tensor(*BY_CHANNELS[0]), crops, flipped, 32)
    images = []
    for pixels, (top, left, height, width), mirrored in zip(BY_CHANNELS[0], crops, flipped, strict=True):
        box = (left, top, left + width, top + height)
        image = as_pillow(pixels).crop(box).resize((32, 32), Image.Resampling.BILINEAR)
        images.append(ImageOps.mirror(image) if mirrored else image)
    wanted = as_tensor(*[as_pixels(image) for image in images])
    assert (found - wanted).abs().max() <= 1  # Pillow rounds after each direction, ours once
    assert abs((found - wanted).mean()) < 0.01


def test_a_whole_image_of_the_same_size_is_left_as_it_is():
    x = as_tensor(picture("noise", size=(16, 16)))
    whole = np.array([[0.0, 0, 16, 16]])
    assert torch.equal(geometry.cropped(x, whole, np.array([False]), 16), x)
    assert torch.equal(geometry.cropped(x, whole, np.array([True]), 16), x.flip(-1))


def test_random_crops_lie_inside_and_have_the_asked_area_and_ratio():
    boxes = geometry.boxes(np.random.default_rng(0), 5000, (32, 32), (0.08, 1.0), (3 / 4, 4 / 3))
    top, left, height, width = boxes.T
    assert (top >= 0).all()
    assert (left >= 0).all()
    assert (top + height <= 32).all()
    assert (left + width <= 32).all()
    area = height * width / 32**2
    assert 0.06 < area.min() < 0.1
    assert 0.9 < area.max() <= 1
    ratio = width / height
    assert ratio.min() > 0.6
    assert ratio.max() < 1.6
    assert abs(np.log(ratio).mean()) < 0.02
    assert (boxes == np.rint(boxes)).all()


def test_a_crop_that_never_fits_is_the_largest_centred_one():
    box = geometry.boxes(np.random.default_rng(0), 2, (10, 40), (1.0, 1.0), (1.0, 1.0))
    assert box.tolist() == [[0, 15, 10, 10]] * 2


def test_severity_nine_has_the_published_arguments():
    level, sign = np.array([9.0]), np.array([1.0])
    x, fill = as_tensor(picture("noise")), torch.tensor(FILL).float()
    wanted = {
        "posterize": colour.posterize(x, torch.tensor([1.0])),
        "solarize": colour.solarize(x, torch.tensor([26.0])),
        "solarize_add": colour.solarize_add(x, torch.tensor([99.0])),
        "color": colour.color(x, torch.tensor([1.81])),
        "sharpness": colour.sharpness(x, torch.tensor([1.81])),
        "rotate": geometry.affine(x, geometry.rotation(np.array([27.0]), 19, 23), fill),
        "shear_x": geometry.affine(x, geometry.shear_x(np.array([0.27])), fill),
        "shift_x": geometry.affine(x, geometry.shift_x(np.array([0.405 * 23])), fill),
        "shift_y": geometry.affine(x, geometry.shift_y(np.array([0.405 * 19])), fill),
    }
    for name, expected in wanted.items():
        torch.testing.assert_close(OPERATIONS[name](x, level, sign, fill), expected, rtol=0, atol=1, msg=name)
    assert enhancement(np.array([9.0, 9.0, 10.0]), np.array([1.0, -1.0, -1.0])) == pytest.approx([1.81, 0.19, 0.1])
    assert len(OPERATIONS) == 15


def test_rand_augment_takes_each_operation_as_often_as_it_should():
    """A share 1 − (1 − ½)² of images is touched; flat pictures of many kinds make a touched one visible."""
    count = 600
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (count, 3, 6, 6))).float()
    found = rand_augment(x, RandAugment(), np.random.default_rng(1), torch.tensor(FILL).float())
    touched = (found != x).flatten(1).any(1).float().mean().item()
    assert touched == pytest.approx(0.75, abs=0.08)  # auto-contrast and equalise may leave an image as it is
    assert found.min() >= 0
    assert found.max() <= 255
    assert torch.equal(found, found.round())
    never = rand_augment(x, RandAugment(probability=0), np.random.default_rng(1), torch.tensor(FILL).float())
    assert torch.equal(never, x)


def test_smoothed_labels_sum_to_one_and_have_the_published_values():
    soft = mix.soft_labels(torch.tensor([2, 0]), 4, 0.1)
    torch.testing.assert_close(soft, torch.tensor([[0.025, 0.025, 0.925, 0.025], [0.925, 0.025, 0.025, 0.025]]))


@pytest.mark.parametrize("settings", [{"mixup": 0.8}, {"cutmix": 1.0}, {"mixup": 0.8, "cutmix": 1.0}])
def test_mixing_keeps_the_mass_of_labels_and_mixes_images_alike(settings):
    """Image i is all i, so that an image's mean tells the share of each of the two it is made of."""
    recipe = Augmentation(**settings, label_smoothing=0.1)
    images = torch.arange(8.0).view(8, 1, 1, 1).expand(8, 3, 12, 12) * 30
    labels = mix.soft_labels(torch.arange(8), 8, 0.0)
    shares = []
    for seed in range(40):
        x, y = mix.mixed(images, labels, recipe, np.random.default_rng(seed))
        torch.testing.assert_close(y.sum(1), torch.ones(8))
        assert (y >= 0).all()
        wanted = y @ (torch.arange(8.0) * 30)
        torch.testing.assert_close(x.mean(dim=(1, 2, 3)), wanted, rtol=0, atol=0.51)  # mixup rounds to whole values
        shares.append(float(y[0, 0]))
    assert np.std(shares) > 0.1


def test_cutmix_puts_one_rectangle_of_the_other_image():
    x, share = mix.cut_mixed(
        torch.stack((torch.zeros(1, 20, 30), torch.ones(1, 20, 30))), 0.6, np.random.default_rng(5)
    )
    rows, columns = x[0, 0].any(1), x[0, 0].any(0)
    assert x[0].sum() == rows.sum() * columns.sum()  # a full rectangle
    assert share == pytest.approx(1 - float(x[0].mean()))
    assert torch.equal(x[1], 1 - x[0])


def test_mixing_can_be_left_out():
    images, labels = torch.rand(4, 1, 2, 2), mix.soft_labels(torch.arange(4), 4, 0.0)
    for recipe in (Augmentation(), Augmentation(mixup=1.0, mix_probability=0.0)):
        x, y = mix.mixed(images, labels, recipe, np.random.default_rng(0))
        assert torch.equal(x, images)
        assert torch.equal(y, labels)
    shares = [mix.mixed(images, labels, Augmentation(mixup=1.0, mix_probability=0.5), np.random.default_rng(s))[1]
              for s in range(60)]  # fmt: skip
    unmixed = sum(torch.equal(y, labels) for y in shares)
    assert 18 <= unmixed <= 42


def test_erasing_replaces_one_rectangle_of_the_asked_share_by_normal_noise():
    recipe = Augmentation(erasing=0.25)
    boxes = erase.rectangles(recipe, np.random.default_rng(0), 4000, (32, 32))
    chosen = boxes[boxes[:, 2] > 0]
    assert len(chosen) / 4000 == pytest.approx(0.25, abs=0.025)
    assert (chosen[:, 0] + chosen[:, 2] <= 32).all()
    assert (chosen[:, 1] + chosen[:, 3] <= 32).all()
    area = chosen[:, 2] * chosen[:, 3] / 32**2
    assert 0.015 < area.min() < 0.03
    assert 0.3 < area.max() < 0.36
    images = torch.full((4000, 1, 32, 32), 7.0)
    found = erase.erased(images, boxes, 12)
    changed = (found != 7).flatten(1).sum(1)
    assert changed.tolist() == (boxes[:, 2] * boxes[:, 3]).astype(int).tolist()
    values = found[found != 7]
    assert abs(values.mean()) < 0.02
    assert values.std().item() == pytest.approx(1, abs=0.02)


FULL = Augmentation(
    crop_scale=(0.08, 1.0), flip=0.5, rand_augment=RandAugment(), color_jitter=0.4, mixup=0.8, cutmix=1.0,
    label_smoothing=0.1, erasing=0.25,
)  # fmt: skip


def batch(count=8, channels=3):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count, 32, 32, channels), dtype=torch.uint8, generator=generator)
    return images, torch.arange(count) % 5


@pytest.mark.parametrize("channels", [1, 3])
def test_the_whole_recipe_gives_normalised_images_and_soft_labels(channels):
    pipeline = Pipeline(FULL, 48, 5, (0.5,), (0.25,))
    images, labels = batch(channels=channels)
    x, y = pipeline(images, labels, torch.Generator().manual_seed(3))
    assert x.shape == (8, channels, 48, 48)
    assert x.dtype == torch.float32
    assert torch.isfinite(x).all()
    assert x.min() >= -6
    torch.testing.assert_close(y.sum(1), torch.ones(8))


def test_a_batch_follows_from_the_state_of_the_generator_alone():
    pipeline = Pipeline(FULL, 32, 5, (0.5,), (0.5,))
    found = []
    for disturbance in (0, 1):
        torch.manual_seed(disturbance)
        np.random.seed(disturbance)
        generator = torch.Generator().manual_seed(3)
        found.append([pipeline(*batch(), generator) for _ in range(2)])
    for (x, y), (other_x, other_y) in zip(*found, strict=True):
        assert torch.equal(x, other_x)
        assert torch.equal(y, other_y)
    assert not torch.equal(found[0][0][0], found[0][1][0])  # the next batch is another one


def test_without_a_recipe_images_are_only_normalised():
    images, labels = batch()
    x, y = Pipeline(Augmentation(), 32, 5, (0.2, 0.3, 0.4), (0.5, 0.6, 0.7))(images, labels, torch.Generator())
    mean, std = torch.tensor([0.2, 0.3, 0.4]).view(3, 1, 1), torch.tensor([0.5, 0.6, 0.7]).view(3, 1, 1)
    torch.testing.assert_close(x, (images.movedim(-1, 1) / 255 - mean) / std)
    assert torch.equal(y.argmax(1), labels)


def test_jitter_is_left_out_beside_rand_augment_unless_asked_for():
    settings = {"rand_augment": RandAugment(probability=0), "color_jitter": 0.4}
    images, labels = batch()
    plain, asked = (
        Pipeline(Augmentation(**settings, color_jitter_with_rand_augment=flag), 32, 5, (0.0,), (1.0,))(
            images, labels, torch.Generator().manual_seed(0)
        )[0]
        for flag in (False, True)
    )
    torch.testing.assert_close(plain, images.movedim(-1, 1) / 255)
    assert not torch.allclose(asked, plain)
    strength = jittered(torch.full((2000, 3, 1, 1), 100.0), 0.4, np.random.default_rng(0))
    assert 60 <= strength.min() < 65
    assert 135 < strength.max() <= 140


def test_ranges_that_do_not_rise_are_refused():
    with pytest.raises(ValueError, match="crop_scale needs two numbers above 0, the smaller first"):
        Augmentation(crop_scale=(1.0, 0.5))
