import typing

import pytest
from datasets import Features, Image, List, Value

from scifigqual_bench.dataset.schema import dataset_features, feature_of
from scifigqual_bench.records import Figure, Gold, Rating


def test_every_field_of_the_record_is_a_column_and_nothing_else():
    assert set(dataset_features()) == {*Figure.model_fields, "image"}


def test_numbers_are_double_precision():
    gold = dataset_features()["gold"]
    assert gold["caption_consistency"] == Value("float64")
    assert set(gold) == set(Gold.model_fields)


def test_nested_records_and_lists():
    features = dataset_features()
    assert isinstance(features["image"], Image)
    assert isinstance(features["ratings"], List)
    assert set(features["ratings"].feature) == set(Rating.model_fields)
    assert features["open_dimensions"] == List(Value("string"))


@pytest.mark.parametrize("annotation", [dict[str, int], int | str, typing.Any, typing.Literal[1, "a"]])
def test_a_type_without_counterpart_is_an_error(annotation):
    with pytest.raises(TypeError, match="no dataset feature"):
        feature_of(annotation)


def test_features_survive_the_card(tmp_path):
    features = dataset_features()
    assert Features._from_yaml_list(features._to_yaml_list()) == features
