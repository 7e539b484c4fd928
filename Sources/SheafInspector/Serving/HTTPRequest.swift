/// A request of HTTP/1.1, without the transport.
package struct HTTPRequest: Sendable {
    /// The method, such as `GET`.
    package let method: String
    /// Number of bytes of the target, undecoded.
    package let targetLength: Int
    /// The path, decoded; nil if its escapes are invalid or it is not UTF-8.
    package let path: String?
    /// The parameters after the question mark, decoded; nil if an escape is invalid or one is not
    /// UTF-8.
    package let parameters: [(name: String, value: String)]?
    /// The fields of the header in order, with names in lower case.
    package let header: [(name: String, value: String)]
    /// The body; empty until it has arrived.
    package internal(set) var body: [UInt8] = []

    /// Creates a request for a target such as `/changes?since=5`.
    package init(method: String, target: [UInt8], header: [(name: String, value: String)]) {
        self.method = method
        targetLength = target.count
        let parts = target.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        path = PercentEncoding.decode(parts.first ?? target[...], plusIsSpace: false)
        parameters = parts.count > 1 ? Self.parameters(parts[1]) : []
        self.header = header.map { (Self.lowercased($0.name), $0.value) }
    }

    /// Returns the values of all fields of the header with a name, which is in lower case.
    package func values(of name: String) -> [String] {
        header.filter { $0.name == name }.map(\.value)
    }

    /// Returns the value of the first parameter with a name; nil if there is none.
    package func parameter(_ name: String) -> String? {
        parameters?.first { $0.name == name }?.value
    }

    /// Returns the values of all cookies with a name.
    package func cookies(_ name: String) -> [String] {
        values(of: "cookie").flatMap { $0.split(separator: ";") }.compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, Self.trimmed(parts[0]) == name else { return nil }
            return Self.trimmed(parts[1])
        }
    }

    /// The first name in the header that has another character than those of a token of HTTP.
    package var invalidHeaderName: String? {
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        return header.first { field in
            field.name.isEmpty
                || !field.name.utf8.allSatisfy { byte in
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                        || marks.contains(byte)
                }
        }?.name
    }

    /// Number of bytes of the body that the header announces; nil if it does not.
    package var announcedLength: UInt64? {
        values(of: "content-length").first.map { UInt64($0) ?? .max }
    }

    /// Number of bytes of the request line and all fields of the header.
    package var headerLength: Int {
        let line = method.utf8.count + targetLength + " ".utf8.count + " HTTP/1.1\r\n".utf8.count
        return header.reduce(line) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    }

    /// Returns a text without spaces and tabs at its ends.
    static func trimmed(_ text: some StringProtocol) -> String {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        let start = text.drop(while: isSpace)
        return String(start.reversed().drop(while: isSpace).reversed())
    }

    /// Returns a text with its ASCII letters in lower case.
    ///
    /// Other letters stay: the sign for kelvin (U+212A) would otherwise become the letter `k`.
    static func lowercased(_ text: String) -> String {
        String(
            decoding: text.utf8.map { byte in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
            }, as: UTF8.self)
    }

    private static func parameters(
        _ text: ArraySlice<UInt8>
    ) -> [(name: String, value: String)]? {
        var found: [(name: String, value: String)] = []
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(parts[0], plusIsSpace: true),
                let value = parts.count > 1
                    ? PercentEncoding.decode(parts[1], plusIsSpace: true) : ""
            else { return nil }
            found.append((name, value))
        }
        return found
    }
}

/// The escapes of URLs, such as `%20`.
enum PercentEncoding {
    /// Returns the text without escapes; nil if one is incomplete or the bytes are not UTF-8.
    static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        var source = text.makeIterator()
        while let byte = source.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = source.next().flatMap(digit),
                    let low = source.next().flatMap(digit)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
