"""Regions of interest."""

from ....dialects import graph
from ..importing.registry import onnx_op


@onnx_op("RoiAlign", since=10)
def roi_align_10(x, rois, batch_indices, **attributes):
    return roi_align(x, rois, batch_indices, **{**_OLD, **attributes})


_OLD = {"coordinate_transformation_mode": "output_half_pixel"}


@onnx_op("RoiAlign", since=16)
def roi_align(
    x,
    rois,
    batch_indices,
    *,
    coordinate_transformation_mode="half_pixel",
    mode="avg",
    output_height=1,
    output_width=1,
    sampling_ratio=0,
    spatial_scale=1.0,
):
    if coordinate_transformation_mode not in ("half_pixel", "output_half_pixel"):
        raise graph.TypeRuleError(
            f"coordinate_transformation_mode '{coordinate_transformation_mode}' is unknown"
        )
    return graph.roi_align(
        x,
        rois,
        batch_indices,
        height=output_height,
        width=output_width,
        ratio=sampling_ratio,
        scale=spatial_scale,
        mode=mode.lower(),
        half_pixel=coordinate_transformation_mode == "half_pixel",
        layout="channels_first",
    )


@onnx_op("MaxRoiPool")
def max_roi_pool(x, rois, *, pooled_shape, spatial_scale=1.0):
    if len(pooled_shape) != 2:
        raise graph.TypeRuleError(f"pooled_shape {pooled_shape} does not have 2 entries")
    height, width = pooled_shape
    layout = "channels_first"
    return graph.max_roi_pool(
        x, rois, height=height, width=width, scale=spatial_scale, layout=layout
    )
