// Configurations as real sites have them.

export const PAGES_CMS = `
media: { input: src/media, output: /media }
content:
  - name: posts
    type: collection
    path: src/posts
    exclude: [README.md, drafts]
    filename: "{year}-{month}-{day}-{primary}.md"
    fields: [{ name: title, type: string }, { name: body, type: rich-text }]
  - { name: flat, type: collection, path: /content/flat/, subfolders: false, exclude: README.md }
  - { name: authors, type: collection, path: authors, filename: { template: "{primary}.json" } }
  - { name: everything, type: collection, path: "", extension: "" }
  - { name: mdx, type: collection, path: docs, extension: mdx }
  - { name: site, label: Site settings, type: file, path: src/_data/site.json }
  - name: shop
    type: group
    items:
      - { name: products, type: collection, path: products }
      - { type: group, items: [{ name: brands, type: collection, path: brands }] }
`;

export const DECAP_CMS = `
backend: { name: git-gateway, branch: main }
i18n: { structure: multiple_folders, locales: [en, de] }
defaults: &defaults { folder: content/shared, extension: json }
collections:
  - label: "Blog"
    name: "blog"
    folder: "/_posts/blog/"
    slug: "{{year}}-{{month}}-{{day}}-{{slug}}"
    fields: [{ label: "Title", name: "title", widget: "string" }]
  - name: pages
    folder: content/pages
    nested: { depth: 2, summary: '{{title}}' }
    meta: { path: { widget: string, label: 'Path', index_file: '_index' } }
  - { name: tree, folder: content/tree, nested: { depth: 100 } }
  - { name: deep, folder: content/deep, nested: {} }
  - { name: bundles, folder: content/bundles, path: '{{slug}}/index' }
  - { name: years, folder: content/years, path: '{{year}}/{{slug}}' }
  - { name: mdx, folder: ./docs, extension: mdx }
  - { name: dotted, folder: docs, extension: .md }
  - { name: data, folder: data, format: yaml }
  - { name: translated, folder: i18n, i18n: true }
  - { name: files, folder: i18n, path: '{{slug}}/index', i18n: { structure: multiple_files } }
  - { <<: *defaults, name: merged }
  - { <<: [{ extension: mdx }, *defaults], name: first }
  - { label: Settings, name: settings, files: [{ name: site, file: data/site.yml }] }
`;
