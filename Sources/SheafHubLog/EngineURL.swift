/// URLs of engines.
package enum EngineURL {
    /// Returns a URL for errors, which logs and reports of faults contain.
    ///
    /// It has no user, password or token, and no parameters after `?`.
    ///
    /// Characters of a password that should be encoded, such as `/` and `@`, are removed with it.
    package static func withoutSecrets(_ url: String) -> String {
        let scheme = url.firstRange(of: "://").map { String(url[..<$0.upperBound]) } ?? ""
        let rest = url.dropFirst(scheme.count)
        guard let at = rest.lastIndex(of: "@") else { return scheme + rest.prefix { $0 != "?" } }
        // This one may be part of a parameter, and so may be what follows it.
        guard !rest[..<at].contains("?") else { return scheme + "..." }
        return scheme + rest[at...].dropFirst().prefix { $0 != "?" }
    }

    /// Returns the text of the port of a URL with one host; nil if it has none.
    package static func port(of url: String) -> String? {
        let host = withoutSecrets(url).split(separator: "/").dropFirst().first ?? ""
        // An IPv6 address has colons within brackets.
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return nil }
        return String(host[colon...].dropFirst())
    }
}
