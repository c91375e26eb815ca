// The body of `GET /repos/{owner}/{repo}`: every field that GitHub's OpenAPI
// description requires, most of them addresses that follow from the
// repository's name.

import type { HostedRepository } from "./github_state.ts";

/** Fields with an address below that of the repository, without `_url`. */
const REPOSITORY_URLS = [
  "archive",
  "assignees",
  "blobs",
  "branches",
  "collaborators",
  "comments",
  "commits",
  "compare",
  "contents",
  "contributors",
  "deployments",
  "downloads",
  "events",
  "forks",
  "git_commits",
  "git_refs",
  "git_tags",
  "hooks",
  "issue_comment",
  "issue_events",
  "issues",
  "keys",
  "labels",
  "languages",
  "merges",
  "milestones",
  "notifications",
  "pulls",
  "releases",
  "stargazers",
  "statuses",
  "subscribers",
  "subscription",
  "tags",
  "teams",
  "trees",
];
const OWNER_URLS = [
  "events",
  "followers",
  "following",
  "gists",
  "organizations",
  "received_events",
  "repos",
  "starred",
  "subscriptions",
];
const COUNTS = [
  "forks",
  "open_issues",
  "stargazers",
  "watchers",
  "network",
  "subscribers",
];
const TIME = "2026-01-01T00:00:00Z";

/** The body for one repository at an API. */
export function repositoryBody(
  { id, owner, name, visibility, defaultBranch }: HostedRepository,
  apiUrl: string,
) {
  const full_name = `${owner}/${name}`;
  const url = `${apiUrl}/repos/${full_name}`;
  const page = `https://github.test/${full_name}`;
  return {
    id,
    node_id: `R_${id}`,
    name,
    full_name,
    private: visibility !== "public",
    owner: ownerBody(owner, apiUrl),
    html_url: page,
    description: null,
    fork: false,
    url,
    ...urls(REPOSITORY_URLS, url),
    created_at: TIME,
    updated_at: TIME,
    pushed_at: TIME,
    git_url: `git://github.test/${full_name}.git`,
    ssh_url: `git@github.test:${full_name}.git`,
    clone_url: `${page}.git`,
    svn_url: page,
    mirror_url: null,
    homepage: null,
    language: null,
    license: null,
    topics: [],
    size: 0,
    has_issues: true,
    has_projects: true,
    has_wiki: true,
    has_pages: false,
    has_discussions: false,
    archived: false,
    disabled: false,
    forks: 0,
    open_issues: 0,
    watchers: 0,
    ...Object.fromEntries(COUNTS.map((count) => [`${count}_count`, 0])),
    visibility,
    default_branch: defaultBranch,
  };
}

/** The account of an owner, as it stands in other bodies. */
export function ownerBody(owner: string, apiUrl: string) {
  const url = `${apiUrl}/users/${owner}`;
  return {
    login: owner,
    id: 1,
    node_id: "U_1",
    gravatar_id: "",
    type: "User",
    site_admin: false,
    avatar_url: "https://avatars.test/u/1",
    url,
    html_url: `https://github.test/${owner}`,
    ...urls(OWNER_URLS, url),
  };
}

function urls(names: readonly string[], base: string) {
  return Object.fromEntries(
    names.map((name) => [`${name}_url`, `${base}/${name}`]),
  );
}
