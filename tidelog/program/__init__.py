"""Programs as frozen values. Nothing here depends on any other part of Tidelog."""
