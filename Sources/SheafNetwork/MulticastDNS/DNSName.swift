/// A name of the domain name system, whose letters are equal in both cases.
package struct DNSName: Hashable, Sendable {
    /// Maximum number of bytes of a label.
    package static let labelLength = 63
    /// Maximum number of bytes of a name, with the length of each label and the final zero.
    package static let maximumLength = 255

    /// Maximum number of pointers in a name.
    static let maximumPointers = 128

    /// The labels from the most specific one, with ASCII letters in lowercase.
    package let labels: [[UInt8]]

    /// Creates a name; returns nil if a label is empty or over 63 bytes, or the name is over 255.
    package init?(labels: [[UInt8]]) {
        let length = labels.reduce(1) { $0 + $1.count + 1 }
        guard length <= Self.maximumLength,
            labels.allSatisfy({ (1...Self.labelLength).contains($0.count) })
        else { return nil }
        self.init(unchecked: labels)
    }

    /// Creates a name of valid labels.
    private init(unchecked labels: [[UInt8]]) {
        self.labels = labels.map { label in
            label.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        }
    }

    /// Creates a name from a text in the program, such as "_sheaf._tcp.local".
    package init(literal text: StaticString) {
        let bytes = text.withUTF8Buffer(Array.init)
        self.init(unchecked: bytes.split(separator: UInt8(ascii: ".")).map(Array.init))
    }

    /// Returns the child name with `label` in front of this name.
    package func prefixed(by label: String) -> DNSName {
        DNSName(unchecked: [Array(label.utf8)] + labels)
    }

    /// The first label, if the others are those of `parent`; nil otherwise.
    package func label(below parent: DNSName) -> [UInt8]? {
        labels.count == parent.labels.count + 1 && labels.dropFirst().elementsEqual(parent.labels)
            ? labels[0] : nil
    }
}

extension DNSName: CustomStringConvertible {
    package var description: String {
        labels.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".") + "."
    }
}
