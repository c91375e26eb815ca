// The body of `GET /repos/{owner}/{repo}`: every field that GitHub's OpenAPI
// description requires, most of them addresses that follow from the
// repository's name.

import type { HostedRepository } from "./github_state.ts";

/**
 * Of addresses below the repository's own: what follows `_url`'s name, where it
 * differs from that name.
 */
const REPOSITORY_URLS: Readonly<Record<string, string>> = {
  archive: "{archive_format}{/ref}",
  assignees: "assignees{/user}",
  blobs: "git/blobs{/sha}",
  branches: "branches{/branch}",
  collaborators: "collaborators{/collaborator}",
  comments: "comments{/number}",
  commits: "commits{/sha}",
  compare: "compare/{base}...{head}",
  contents: "contents/{+path}",
  contributors: "contributors",
  deployments: "deployments",
  downloads: "downloads",
  events: "events",
  forks: "forks",
  git_commits: "git/commits{/sha}",
  git_refs: "git/refs{/sha}",
  git_tags: "git/tags{/sha}",
  hooks: "hooks",
  issue_comment: "issues/comments{/number}",
  issue_events: "issues/events{/number}",
  issues: "issues{/number}",
  keys: "keys{/key_id}",
  labels: "labels{/name}",
  languages: "languages",
  merges: "merges",
  milestones: "milestones{/number}",
  notifications: "notifications{?since,all,participating}",
  pulls: "pulls{/number}",
  releases: "releases{/id}",
  stargazers: "stargazers",
  statuses: "statuses/{sha}",
  subscribers: "subscribers",
  subscription: "subscription",
  tags: "tags",
  teams: "teams",
  trees: "git/trees{/sha}",
};
const OWNER_URLS: Readonly<Record<string, string>> = {
  events: "events{/privacy}",
  followers: "followers",
  following: "following{/other_user}",
  gists: "gists{/gist_id}",
  organizations: "orgs",
  received_events: "received_events",
  repos: "repos",
  starred: "starred{/owner}{/repo}",
  subscriptions: "subscriptions",
};
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

function urls(
  paths: Readonly<Record<string, string>>,
  base: string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(paths).map((
      [name, path],
    ) => [`${name}_url`, `${base}/${path}`]),
  );
}
