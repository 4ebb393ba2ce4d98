"""OpenCV, or a message that says how to get it."""

from __future__ import annotations

try:
    import cv2
except ModuleNotFoundError as error:
    raise ImportError(
        'image features need OpenCV, which is not installed: pip install "scifigqual-bench[build]"'
    ) from error
except ImportError as error:
    raise ImportError(
        f"OpenCV is installed but does not load ({error}). opencv-python needs system libraries: either "
        "apt-get install libgl1 libglib2.0-0, or, without them, "
        "pip install --force-reinstall --no-deps opencv-python-headless"
    ) from error

__all__ = ["cv2"]
