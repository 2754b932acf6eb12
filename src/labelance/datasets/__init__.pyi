"""The names of labelance.datasets: for type checkers, and read by ``__init__.py``."""

from labelance.datasets._catalogue import DatasetCheck as DatasetCheck
from labelance.datasets._catalogue import DatasetFiles as DatasetFiles
from labelance.datasets._catalogue import DatasetTable as DatasetTable
from labelance.datasets._catalogue import dataset_info as dataset_info
from labelance.datasets._catalogue import fetch_dataset as fetch_dataset
from labelance.datasets._catalogue import get_data_home as get_data_home
from labelance.datasets._catalogue import list_datasets as list_datasets
from labelance.datasets._catalogue import load_dataset as load_dataset
from labelance.datasets._catalogue import verify_dataset as verify_dataset
from labelance.datasets._dataset import MultiLabelDataset as MultiLabelDataset
from labelance.datasets._multi_class import MultiClassReduction as MultiClassReduction
from labelance.datasets._protocol import apply_protocol as apply_protocol
from labelance.datasets._protocol import drop_rare_labels as drop_rare_labels
from labelance.datasets._protocol import keep_frequent_features as keep_frequent_features
from labelance.datasets._registry import DatasetInfo as DatasetInfo
from labelance.datasets.formats import read_multilabel as read_multilabel
from labelance.datasets.formats import write_multilabel as write_multilabel
from labelance.datasets.synthetic import Figure2 as Figure2
from labelance.datasets.synthetic import make_figure1 as make_figure1
from labelance.datasets.synthetic import make_figure2 as make_figure2
from labelance.datasets.synthetic import make_multilabel_imbalanced as make_multilabel_imbalanced
