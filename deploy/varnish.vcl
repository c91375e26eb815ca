# A cache in front of Repo Collections, which purges it. For Varnish 7 with
# varnish-modules (Debian: varnish, varnish-modules). Set
# CACHE_PURGE=varnish:http://<this host>:6081 at the service, and change what is
# marked "change".
vcl 4.1;

import std;
import xkey;

# Change: the service. The probe finds out whether it is up.
backend collections {
    .host = "127.0.0.1";
    .port = "8000";
    .connect_timeout = 2s;
    .first_byte_timeout = 60s;
    .probe = {
        .url = "/api/health";
        .interval = 2s;
        .timeout = 1s;
        .window = 3;
        .threshold = 2;
        .initial = 2;
    }
}

# Change: who may purge, which is the service.
acl purgers {
    "127.0.0.1";
    "::1";
}

sub vcl_recv {
    if (req.method == "PURGE") {
        if (client.ip !~ purgers) {
            return (synth(403, "Forbidden"));
        }
        if (req.http.xkey-purge == "repo-collections") {
            # A start of the service. Nothing is fresh any more, but it may be
            # shown while the service is down.
            return (synth(200, "Expired " +
                xkey.softpurge(req.http.xkey-purge)));
        }
        # The numbers are only for people.
        return (synth(200, "Purged " + xkey.purge(req.http.xkey-purge)));
    }
    # For TRUST_PROXY=true. Change: "https" behind a proxy that ends TLS. What a
    # client sends would end up in the addresses of answers.
    set req.http.X-Forwarded-Host = req.http.Host;
    set req.http.X-Forwarded-Proto = "http";
    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    # No answer depends on who asks.
    unset req.http.Cookie;
    unset req.http.Authorization;
    # An answer that is no longer fresh is for when the service is down.
    if (std.healthy(req.backend_hint) && req.restarts == 0) {
        set req.grace = 0s;
    } else {
        set req.grace = 24h;
    }
    return (hash);
}

sub vcl_backend_response {
    if (beresp.http.CDN-Cache-Control ~ "max-age=") {
        # The service purges what changes.
        set beresp.ttl = std.duration(
            regsub(beresp.http.CDN-Cache-Control, "^.*max-age=(\d+).*$", "\1s"),
            0s) - std.duration(beresp.http.Age + "s", 0s);
    }
    if (beresp.http.Surrogate-Key && beresp.ttl > 0s) {
        set beresp.http.xkey = beresp.http.Surrogate-Key;
        set beresp.grace = 24h;
        set beresp.keep = 0s;
        return (deliver);
    }
    # Nothing else is stored. What it replaces is gone.
    set beresp.ttl = 0s;
    set beresp.grace = 0s;
    set beresp.uncacheable = true;
    return (deliver);
}

sub vcl_backend_error {
    # vcl_synth tries again with what is stored.
    return (abandon);
}

sub vcl_synth {
    if (resp.status == 503 && req.restarts == 0 &&
        (req.method == "GET" || req.method == "HEAD")) {
        return (restart);
    }
    if (resp.status == 503) {
        set resp.http.Access-Control-Allow-Origin = "*";
        set resp.http.Cache-Control = "no-store";
        set resp.http.Retry-After = "5";
    }
}

sub vcl_deliver {
    unset resp.http.xkey;
    unset resp.http.CDN-Cache-Control;
    unset resp.http.Surrogate-Control;
    unset resp.http.Surrogate-Key;
    unset resp.http.Cache-Tag;
    unset resp.http.X-Accel-Expires;
    if (obj.hits == 0) {
        set resp.http.Cache-Status = resp.http.Cache-Status +
            ", varnish; fwd=miss";
    } else if (obj.ttl > 0s &&
        (obj.age <= 60s || std.healthy(req.backend_hint))) {
        # A service that is down for longer purges nothing.
        set resp.http.Cache-Status = resp.http.Cache-Status + ", varnish; hit";
    } else {
        set resp.http.Cache-Status = resp.http.Cache-Status +
            ", varnish; hit; detail=stale-if-error";
    }
}
