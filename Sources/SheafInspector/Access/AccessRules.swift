/// The rules about which requests are answered (`format-spec/inspector.md`, Access).
package struct AccessRules: Sendable {
    private let hosts: Set<String>
    private let acceptsNumericHosts: Bool
    private let port: UInt16
    private let token: AccessToken
    /// The name of the cookie that has the token.
    private let cookieName: String

    package init(at address: ListeningAddress, port: UInt16, _ token: AccessToken) {
        let names =
            address.isLoopback || address.isWildcard
            ? [address.host, "localhost", "127.0.0.1", "[::1]"] : [address.host]
        hosts = Set(names.map { "\($0):\(port)" } + (port == 80 ? names : []))
        acceptsNumericHosts = address.isWildcard
        self.port = port
        self.token = token
        cookieName = "sheaf-\(port)"
    }

    /// Returns the error of a request whose `Host` or `Origin` is foreign; nil if both are right.
    ///
    /// With DNS rebinding, the name of another site leads to this machine; `Host` has that name.
    package func foreignOrigin(_ request: HTTPRequest) -> ErrorAnswer? {
        let given = request.values(of: "host")
        guard given.count == 1, let host = given.first.map(HTTPRequest.lowercased), isOwn(host)
        else {
            return ErrorAnswer(
                403, "the Host of the request is not that of the inspector",
                hint: "open the URL that the inspector printed when it started")
        }
        let origins = request.values(of: "origin")
        guard origins.allSatisfy({ HTTPRequest.lowercased($0) == "http://" + host }) else {
            return ErrorAnswer(
                403, "the request comes from a page of another site",
                hint: "pages of other sites cannot use the inspector")
        }
        return nil
    }

    private func isOwn(_ host: String) -> Bool {
        if hosts.contains(host) { return true }
        // DNS rebinding needs a name, so a numeric address is safe.
        guard acceptsNumericHosts else { return false }
        guard host.hasSuffix(":\(port)") else {
            // Browsers omit this port.
            return port == 80 && ListeningAddress.isNumeric(host)
        }
        return ListeningAddress.isNumeric(String(host.dropLast("\(port)".count + 1)))
    }

    /// Returns the redirection of `GET /?token=TOKEN` to the page, with the cookie; nil without
    /// `token`.
    package func entry(_ request: HTTPRequest) -> Result<HTTPResponse, ErrorAnswer>? {
        guard request.path == "/", let given = request.parameter("token") else { return nil }
        guard token.matches(given) else { return .failure(Self.wrongToken) }
        let cookie = "\(cookieName)=\(token.text); HttpOnly; SameSite=Strict; Path=/"
        return .success(
            HTTPResponse(
                303, "text/plain; charset=utf-8", .bytes([]),
                fields: [("Location", "/"), ("Set-Cookie", cookie)]))
    }

    /// Returns the error of a request without the token; nil if it has it.
    ///
    /// The header `Authorization` decides, or else the cookies. Programs on other ports may set
    /// cookies of the same name, so one right cookie suffices.
    package func missingToken(_ request: HTTPRequest) -> ErrorAnswer? {
        let authorization = request.values(of: "authorization")
        guard authorization.isEmpty else {
            let isRight = authorization.allSatisfy { value in
                let words = value.split(separator: " ")
                return words.count == 2 && HTTPRequest.lowercased(String(words[0])) == "bearer"
                    && token.matches(String(words[1]))
            }
            return isRight ? nil : Self.wrongToken
        }
        let cookies = request.cookies(cookieName)
        guard !cookies.isEmpty else {
            return ErrorAnswer(
                401, "the request has no token",
                hint: "open the URL that the inspector printed when it started, or send the header "
                    + "Authorization: Bearer TOKEN")
        }
        return cookies.contains(where: token.matches) ? nil : Self.wrongToken
    }

    private static let wrongToken = ErrorAnswer(
        401, "the token of the request is wrong",
        hint: "each start of the inspector prints a URL with another token; open that one")
}
