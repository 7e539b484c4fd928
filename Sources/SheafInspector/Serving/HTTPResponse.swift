/// A response of HTTP/1.1, without the transport.
package struct HTTPResponse: Sendable {
    /// The content of a response.
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Bytes that other threads write while the connection is open.
        case stream(StreamBody)
    }

    package let status: Int
    package let contentType: String
    /// Further fields of the header.
    package var fields: [(name: String, value: String)]
    package let body: Body

    package init(
        _ status: Int, _ contentType: String, _ body: Body,
        fields: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.fields = fields
    }

    /// The fields that every response has (`format-spec/inspector.md`).
    static let commonFields: [(name: String, value: String)] = [
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                + "connect-src 'self'; base-uri 'none'; form-action 'none'; "
                + "frame-ancestors 'none'"
        ),
    ]
}

/// The answers of a server to requests.
package protocol HTTPHandler: Sendable {
    /// Returns the answer to a request whose body need not arrive; nil if it is required.
    ///
    /// It is called on the thread of all connections, so it must not block.
    func refusal(of request: HTTPRequest) -> HTTPResponse?

    /// Returns the answer to a complete request.
    nonisolated(nonsending) func answer(_ request: HTTPRequest) async -> HTTPResponse
}
