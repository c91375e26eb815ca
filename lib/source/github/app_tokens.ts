// Tokens of a GitHub App (docs.github.com, "Authenticating as a GitHub App installation"): one for each account that has
// installed the App, requested when a repository of that account is, and replaced before it ends. Requests for one token
// share it. Where there is none, the caller goes on without.

import { LRUCache } from "lru-cache";
import githubAppJwt from "universal-github-app-jwt";
import { z } from "zod";
import type { Clock } from "../../clock.ts";
import { CollectionsError, sourceFailed } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { SingleFlight } from "../../single_flight.ts";
import { MAX_WAIT_MS } from "../failure_backoff.ts";
import { backgroundContext, type RequestContext } from "../source.ts";
import { retryAfterMs } from "./client.ts";
import { parseAnswer } from "./host.ts";
import { newToken, type SendAsApp, type Token, type TokenSupply } from "./tokens.ts";

/** One that is used goes before those that strangers name. */
const MAX_ACCOUNTS = 10_000;
/** An account without an installation may get one; and what was refused may be allowed. */
const ABSENT_MS = 600_000;
const FAILED_MS = 30_000;
/** The last part of a token's life, in which it is replaced. */
const RENEWAL_SHARE = 0.1;
/** Where the clocks differ by more than a token lives. */
const MIN_LIFE_MS = 30_000;

const installationAnswer = z.object({ id: z.int().positive() });
const tokenAnswer = z.object({
  token: z.string().regex(/^[\x21-\x7e]{1,1024}$/),
  expires_at: z.string().transform(Date.parse).pipe(z.number()),
});

/** What is known of an account; times are by `clock.monotonicMs()`. */
interface Installation {
  /** Null where the account has none; undefined while that is not known. */
  readonly id: number | null | undefined;
  readonly token: Token | null;
  readonly askedAtMs: number;
  readonly renewAtMs: number;
}

/** The tokens of the installations of one App. */
export class AppTokens implements TokenSupply {
  private readonly installations = new LRUCache<string, Installation>({ max: MAX_ACCOUNTS });
  private readonly flights = new SingleFlight<void>();
  /** GitHub limits the App. */
  private pausedUntilMs = 0;

  constructor(
    private readonly options: {
      /** The App's id, or its client id. */
      readonly id: string;
      /** In PEM. */
      readonly privateKey: string;
      readonly apiUrl: string;
      readonly clock: Clock;
      readonly log: Log;
    },
  ) {}

  /** A JSON Web Token that names the App, for ten minutes. @throws for a key that cannot be used. */
  async sign(): Promise<string> {
    const { id, privateKey, clock } = this.options;
    const now = Math.floor(clock.now() / 1000);
    return (await githubAppJwt({ id, privateKey, now })).token;
  }

  tokensFor(owner: string): readonly Token[] {
    const found = owner === ""
      ? [...this.installations.values()]
      : [this.installations.get(owner.toLowerCase())];
    return found.map((installation) => installation?.token ?? null).filter((one) => one !== null);
  }

  mayHave(owner: string): boolean {
    return this.installations.peek(owner.toLowerCase())?.id !== null;
  }

  async renew(owner: string, send: SendAsApp, context: RequestContext): Promise<void> {
    const key = owner.toLowerCase();
    if (!this.isDue(this.installations.get(key))) return;
    const ask = (signal: AbortSignal) =>
      this.ask(key, send, backgroundContext(context.client, signal));
    await this.flights.run(key, ask, context.signal);
  }

  private isDue(known: Installation | undefined): boolean {
    const now = this.options.clock.monotonicMs();
    if (now < this.pausedUntilMs) return false;
    if (known === undefined || now >= known.renewAtMs) return true;
    // A new token that is refused at once would be requested without end.
    const isRefused = known.token?.isRefused ?? false;
    return isRefused && (known.token!.isAccepted || now >= known.askedAtMs + ABSENT_MS);
  }

  /** Asks GitHub for the installation, where it is not known, and for its token. */
  private async ask(key: string, send: SendAsApp, context: RequestContext): Promise<void> {
    const { clock, log } = this.options;
    const known = this.installations.get(key);
    const askedAtMs = clock.monotonicMs();
    try {
      const id = known?.id ?? await this.find(key, send, context);
      const token = id === null ? null : await this.request(id, known?.token, send, context);
      if (token === null) {
        const absent = { id: null, token, askedAtMs, renewAtMs: askedAtMs + ABSENT_MS };
        this.installations.set(key, absent);
        return;
      }
      const renewAtMs = token.endsAtMs - (token.endsAtMs - askedAtMs) * RENEWAL_SHARE;
      this.installations.set(key, { id, token, askedAtMs, renewAtMs });
    } catch (error) {
      context.signal?.throwIfAborted();
      if (!(error instanceof CollectionsError)) throw error;
      log.warn("no installation token", { owner: key, reason: error.message });
      const renewAtMs = askedAtMs + Math.max(FAILED_MS, error.restMs);
      // The former token is used until its end.
      const token = known?.token?.isRefused ? null : known?.token ?? null;
      this.installations.set(key, { id: known?.id, token, askedAtMs, renewAtMs });
    }
  }

  /** The id of an account's installation, or null. The path takes organizations too. */
  private async find(key: string, send: SendAsApp, context: RequestContext) {
    const answer = await this.send(`/users/${key}/installation`, { send, context });
    return answer === null ? null : parseAnswer(installationAnswer, answer).id;
  }

  /** A new token, which takes over what is known of the last one's limits; null where the App is not installed any more. */
  private async request(
    id: number,
    last: Token | null | undefined,
    send: SendAsApp,
    context: RequestContext,
  ): Promise<Token | null> {
    const { clock } = this.options;
    const path = `/app/installations/${id}/access_tokens`;
    const answer = await this.send(path, { send, context, body: "" });
    if (answer === null) return null;
    const { token, expires_at } = parseAnswer(tokenAnswer, answer);
    const lifeMs = Math.max(expires_at - clock.now(), MIN_LIFE_MS);
    const endsAtMs = clock.monotonicMs() + lifeMs;
    const { quotas, pointMs, pacedUntilMs } = last ?? newToken(token, id);
    return { ...newToken(token, id), quotas, pointMs, pacedUntilMs, endsAtMs };
  }

  /** An answer of the API, or null for 404. @throws {CollectionsError} a source failure. */
  private async send(
    path: string,
    { send, context, body }: {
      readonly send: SendAsApp;
      readonly context: RequestContext;
      readonly body?: string;
    },
  ) {
    const { apiUrl, clock } = this.options;
    const jwt = await this.sign();
    const url = apiUrl + path;
    const answer = await send(body === undefined ? { url, jwt } : { url, jwt, body }, context);
    const { status, headers } = answer;
    if (status === 404) return null;
    if (status === 200 || status === 201) return answer;
    const restMs = Math.min(retryAfterMs(headers, clock.now()) ?? 0, MAX_WAIT_MS);
    if (status === 403 || status === 429) this.pausedUntilMs = clock.monotonicMs() + restMs;
    throw sourceFailed(`Cannot read "app": GitHub answered ${status}`, { restMs });
  }
}
