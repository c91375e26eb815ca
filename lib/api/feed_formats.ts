// The formats of a list besides JSON.

/** The media type of each format. */
export const FEED_TYPES = {
  atom: "application/atom+xml; charset=utf-8",
  rss: "application/rss+xml; charset=utf-8",
  jsonfeed: "application/feed+json",
  sitemap: "application/xml; charset=utf-8",
};
