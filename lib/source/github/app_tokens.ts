// Tokens of a GitHub App (docs.github.com, "Authenticating as a GitHub App
// installation"). Each account that has installed the App has one token. The
// token is requested with the first request for a repository of that account
// and replaced before it expires. Concurrent requests for one token share it.
// Callers continue without a token if there is none.

import { z } from "zod";
import type { Clock } from "../../work/clock.ts";
import { CollectionsError, sourceFailed } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { RecentMap } from "../../work/recent_map.ts";
import { SingleFlight } from "../../work/single_flight.ts";
import { backgroundContext, type RequestContext } from "../source.ts";
import { retryAfterMs } from "./client.ts";
import { parseAnswer } from "./host.ts";
import {
  newToken,
  type SendAsApp,
  type Token,
  type TokenSupply,
} from "./tokens.ts";

/** Accounts in use outlast those that strangers name. */
const MAX_ACCOUNTS = 10_000;
/** The account may install the App or allow more later. */
const ABSENT_MS = 600_000;
const FAILED_MS = 30_000;
/** Share of a token's life after which it is replaced. */
const USED_SHARE = 0.9;
/** Applies if the clocks differ by more than a token's life. */
const MIN_LIFE_MS = 30_000;

const installationAnswer = z.object({ id: z.int().positive() });
const tokenAnswer = z.object({
  token: z.string().regex(/^[\x21-\x7e]{1,1024}$/),
  expires_at: z.string().transform(Date.parse).pipe(z.number()),
});

/** What is known about an account. Times are by `clock.monotonicMs()`. */
interface Installation {
  /**
   * Null if the account has no installation. Undefined while that is unknown.
   */
  id: number | null | undefined;
  token: Token | null;
  askedAtMs: number;
  renewAtMs: number;
}

/** The tokens of the installations of one App. */
export class AppTokens implements TokenSupply {
  private readonly installations = new RecentMap<Installation>(MAX_ACCOUNTS);
  private readonly flights = new SingleFlight<void>();
  /** Set while GitHub limits the App. */
  private pausedUntilMs = 0;

  constructor(
    private readonly options: {
      /** The App's id or its client id. */
      id: string;
      /** The App's private key in PEM. */
      privateKey: string;
      apiUrl: string;
      clock: Clock;
      log: Log;
    },
  ) {}

  /**
   * Returns a JSON Web Token that names the App for ten minutes.
   * @throws if the key cannot be used.
   */
  async sign(): Promise<string> {
    const { id, privateKey, clock } = this.options;
    // Most services have no App and start sooner without this module.
    const { default: githubAppJwt } = await import("universal-github-app-jwt");
    const now = Math.floor(clock.now() / 1000);
    return (await githubAppJwt({ id, privateKey, now })).token;
  }

  tokensFor(owner: string): readonly Token[] {
    const found = owner === ""
      ? [...this.installations.values()]
      : [this.installations.get(owner.toLowerCase())];
    return found.flatMap((installation) => installation?.token ?? []);
  }

  mayHave(owner: string): boolean {
    return this.installations.peek(owner.toLowerCase())?.id !== null;
  }

  async renew(
    owner: string,
    send: SendAsApp,
    { client, signal }: RequestContext,
  ): Promise<void> {
    const key = owner.toLowerCase();
    const now = this.options.clock.monotonicMs();
    const { token, askedAtMs = 0, renewAtMs = 0 } =
      this.installations.get(key) ?? {};
    // A new token that is refused at once would be requested without end.
    const isLost = token?.isRefused &&
      (token.isAccepted || now >= askedAtMs + ABSENT_MS);
    if (now < this.pausedUntilMs || now < renewAtMs && !isLost) return;
    const ask = (signal: AbortSignal) =>
      this.ask(key, send, backgroundContext(client, signal));
    await this.flights.run(key, ask, signal);
  }

  /**
   * Requests the token from GitHub. Finds the installation first if it is
   * unknown.
   */
  private async ask(
    owner: string,
    send: SendAsApp,
    context: RequestContext,
  ) {
    const { apiUrl, clock, log } = this.options;
    const { id: knownId, token: last } = this.installations.get(owner) ?? {};
    const askedAtMs = clock.monotonicMs();
    const keep = (known: Omit<Installation, "askedAtMs">) => {
      this.installations.set(owner, { ...known, askedAtMs });
    };
    let waitMs = FAILED_MS;
    /**
     * Returns the API's response, or null for 404.
     * @throws {CollectionsError} a source failure.
     */
    const request = async <T>(
      schema: z.ZodType<T>,
      path: string,
      body?: string,
    ) => {
      const answer = await send({
        url: apiUrl + path,
        jwt: await this.sign(),
        body,
      }, context);
      const { status, headers } = answer;
      if (status === 200 || status === 201) return parseAnswer(schema, answer);
      if (status === 404) return null;
      const statedMs = retryAfterMs(headers, clock.now()) ?? 0;
      waitMs = Math.max(waitMs, statedMs);
      if (status === 403 || status === 429) {
        this.pausedUntilMs = clock.monotonicMs() + statedMs;
      }
      throw sourceFailed(`Cannot read "app": GitHub answered ${status}`);
    };
    try {
      // The path also accepts organizations.
      const id = knownId ??
        (await request(installationAnswer, `/users/${owner}/installation`))?.id;
      const answer = id === undefined ? null : await request(
        tokenAnswer,
        `/app/installations/${id}/access_tokens`,
        "",
      );
      if (answer === null) {
        return keep({
          id: null,
          token: null,
          renewAtMs: askedAtMs + ABSENT_MS,
        });
      }
      const { token: secret, expires_at } = answer;
      const lifeMs = Math.max(expires_at - clock.now(), MIN_LIFE_MS);
      const endsAtMs = clock.monotonicMs() + lifeMs;
      // The new token has the same limits as the last one.
      const token = {
        ...last ?? newToken(secret, id!, `installation ${id}`),
        secret,
        endsAtMs,
      };
      Object.assign(token, { isRefused: false, isAccepted: false });
      keep({ id, token, renewAtMs: askedAtMs + lifeMs * USED_SHARE });
    } catch (error) {
      context.signal?.throwIfAborted();
      if (!(error instanceof CollectionsError)) throw error;
      log.warn("no installation token", { owner, reason: error.message });
      // The last token is used until it expires.
      const token = last?.isRefused ? null : last ?? null;
      keep({ id: knownId, token, renewAtMs: askedAtMs + waitMs });
    }
  }
}
