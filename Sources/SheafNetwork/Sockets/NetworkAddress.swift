import SheafBytes

/// A host and a port: "example.org:4120", "192.0.2.7:4120", "[::1]:4120".
struct NetworkAddress: Hashable, Sendable, CustomStringConvertible {
    let host: String
    let port: UInt16

    private static let maximumHostLength = 253

    /// Parses an address.
    init(_ text: String) throws(NetworkError) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { throw Self.refusal(text) }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw Self.refusal(text)
        }
        guard !host.isEmpty, host.utf8.count <= Self.maximumHostLength,
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw Self.refusal(text) }
        self.host = String(host)
        self.port = port
    }

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// The address for error texts, shortened.
    var quoted: String { description.shortened(to: ErrorText.limit) }

    private static func refusal(_ text: String) -> NetworkError {
        NetworkError(
            .address,
            "\"\(text.shortened(to: ErrorText.limit))\" is not an address; expected a host and a port, such as "
                + "\"example.org:4120\" or \"[::1]:4120\"")
    }
}
