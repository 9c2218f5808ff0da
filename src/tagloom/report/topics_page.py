"""What a topic model has learnt, as HTML: every text goes through `escaped`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tagloom.report.report_text import escaped, image_source

if TYPE_CHECKING:
    from tagloom.methods.topics import TopicDescription, TopicPhoto, TopicTag

__all__ = ["topics_fragment"]


def topics_fragment(
    topics: "Sequence[TopicDescription]",
    photos: Sequence[str | bytes] | None = None,
    thumbnails: Mapping[int, bytes] | None = None,
    *,
    heading: str = "Topics",
) -> str:
    """Return a section of a page: each topic with its share of the photos, its tags and its most typical photos.

    It holds no script, no style and no address but ``data:`` pictures, so that it fits a page with a strict policy; its
    classes are those of the report.

    Parameters
    ----------
    topics : sequence of TopicDescription
        What ``LaplacianTopicModel.describe_topics`` returns, in the order to show.
    photos : sequence of str or bytes, optional
        Names of the training photos, by row. Default: "photo 1", "photo 2" …
    thumbnails : mapping of int to bytes, optional
        Small pictures by row (JPEG, PNG or WebP); other bytes are not shown.
    heading : str, default="Topics"
        Title of the section.
    """
    shown = "\n".join(_topic(topic, photos, thumbnails or {}) for topic in topics)
    body = f'<ul class="topic-list">\n{shown}\n</ul>' if topics else '<p class="none">No topics</p>'
    # What scrolls must be reached by keyboard.
    body = f'<div class="scroll" tabindex="0" role="region" aria-labelledby="topics-title">{body}</div>'
    return (
        f'<section class="panel topics" aria-labelledby="topics-title">\n<h2 id="topics-title">{escaped(heading)} '
        f'<span class="count">{len(topics):,}</span></h2>\n{body}\n</section>'
    )


def _topic(topic: "TopicDescription", photos: Sequence[str | bytes] | None, thumbnails: Mapping[int, bytes]) -> str:
    tags = "".join(_tag(tag) for tag in topic.tags)
    typical = "".join(_photo(photo, photos, thumbnails) for photo in topic.photos)
    return (
        f'<li class="topic"><h3>Topic {topic.topic + 1} <span class="count">{topic.share:.1%} of the photos</span></h3>'
        f'<ul class="chips" aria-label="Tags">{tags}</ul>'
        f'<ul class="typical" aria-label="Typical photos">{typical}</ul></li>'
    )


def _tag(tag: "TopicTag") -> str:
    hint = f"{tag.lift:.1f} times as often as in all photos"
    return f'<li class="chip" title="{hint}">{escaped(tag.tag)} <span class="score">{tag.probability:.2f}</span></li>'


def _photo(photo: "TopicPhoto", photos: Sequence[str | bytes] | None, thumbnails: Mapping[int, bytes]) -> str:
    name = escaped(f"photo {photo.row + 1}" if photos is None else photos[photo.row])
    source = image_source(thumbnails.get(photo.row, b""))
    image = f'<img alt="" loading="lazy" decoding="async" src="{source}">' if source else ""
    return f'<li>{image}<span class="name">{name}</span> <span class="score">{photo.probability:.2f}</span></li>'
