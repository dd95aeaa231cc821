//! Names the headers by which a client can make an upstream answer another request than its own.
//!
//! Proxies and frameworks read target, host, scheme, address, method or user from headers that were
//! meant for a proxy in front of them. No key covers them. So a shared response could be made for
//! what one client wrote there (cache poisoning).
//! Invariant: no fetch whose response may be stored carries such a header, unless a rule of the
//! route's key or its `forward` names it (`KeyPlan::passes_on`). The list is of families, because
//! new members appear every year; it can never be complete. SECURITY.md says what is promised, and
//! repeats the families.
//! Never here: headers that the gateway writes anew (`fetch::origin_request`).

/// Beginnings of names, in lower case.
const FAMILIES: [&str; 58] = [
    // Target, host, scheme and port as a proxy saw them.
    "forwarded",
    "x-forward",
    "x-original",
    "x-rewrite",
    "x-host",
    "x-scheme",
    "x-url",
    "x-uri",
    "x-path",
    "x-prefix",
    "x-base-",
    "x-script",
    "x-request-ur",
    "request-uri",
    "x-matched-path",
    "x-override",
    "x-proxy",
    "x-backend",
    "x-server-",
    "x-accel-",
    "x-sendfile",
    "destination",
    // The method.
    "x-http-",
    "x-method",
    // TLS.
    "front-end-https",
    "https",
    "ssl-",
    "x-ssl",
    "x-tls",
    "x-https",
    "x-secure",
    // The client's address.
    "true-client-",
    "x-real-",
    "x-client-",
    "x-cluster-",
    "x-remote-",
    // The user, as a proxy authenticated it.
    "remote-",
    "x-auth",
    "x-user",
    "x-webauth",
    // Content networks, clouds and servers.
    "akamai-",
    "cf-",
    "cloudfront-",
    "fastly-",
    "surrogate-",
    "wl-proxy-",
    "x-amz",
    "x-appengine-",
    "x-arr-",
    "x-azure-",
    "x-envoy-",
    "x-goog-",
    "x-ms-client-",
    "x-vercel-",
    // Frameworks, and what shows the source of a page (IIS).
    "next-",
    "x-invoke-",
    "x-middleware-",
    "x-nextjs-",
];

/// Whole names, in lower case.
const NAMES: [&str; 2] = ["rsc", "translate"];

/// Whether a header, named in lower case, lets a client override its own request.
pub fn is_override(name: &[u8]) -> bool {
    NAMES.iter().any(|one| one.as_bytes() == name)
        || FAMILIES.iter().any(|family| name.starts_with(family.as_bytes()))
}
