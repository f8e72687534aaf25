"""What pytest is to do with all tests of this folder."""

from repeats import pytest_collection_modifyitems as pytest_collection_modifyitems
