"""Pipelines on Spark: read changes, maintain a materialisation, write tables and feeds."""

from tidelog.pipeline.pipeline import Pipeline, Summary
from tidelog.pipeline.settings import Map, Sink, Source, Trigger

__all__ = ["Map", "Pipeline", "Sink", "Source", "Summary", "Trigger"]
