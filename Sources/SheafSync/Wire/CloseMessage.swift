package import SheafBytes

/// The reason for which a peer closes a connection (`format-spec/sync.md`, table 4).
package struct CloseMessage: Equatable, Sendable {
    package enum Code: UInt8, Sendable, CaseIterable {
        /// Normal end.
        case done = 0
        /// Protocol violation.
        case protocolBroken = 1
        /// No protocol version is supported by both peers.
        case version = 2
        /// The peers have different databases.
        case database = 3
        /// Both peers have the same key.
        case sameKey = 4
        /// The peer, a query or a batch is refused.
        case refused = 5
        /// A timeout.
        case timedOut = 6
        /// The peer exceeds a limit.
        case limit = 7
        /// The local store has failed.
        case failed = 8
        /// The store of the remote peer has lost writes.
        case lostWrite = 9
    }

    package let code: Code
    /// Explanation for people; contains no document data.
    package let text: String

    package static let maximumTextLength = 512

    package init(_ code: Code, _ text: String = "") {
        self.code = code
        var text = text
        while text.utf8.count > Self.maximumTextLength { text.removeLast() }
        self.text = text
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: text.utf8.count + 3)
        writer.write(code.rawValue)
        writer.writeText(text)
        return writer.bytes
    }

    /// The message as the only frame of a connection.
    package var firstFrame: [UInt8] {
        var writer = FrameWriter()
        return writer.bytes(of: Frame(.close, bytes))
    }

    package init(decoding bytes: UnsafeRawBufferPointer) throws(Malformed) {
        var reader = ByteReader(bytes)
        let byte = try reader.readUInt8()
        guard let code = Code(rawValue: byte) else { throw .unexpected(byte, at: 0) }
        self.code = code
        text = try reader.readText(limit: Self.maximumTextLength)
        guard reader.remaining == 0 else {
            throw .invalid("bytes after the text", at: reader.offset)
        }
    }
}
