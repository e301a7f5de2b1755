"""Where training stops to predict all labels of classes, compared with the capacity."""
