package import SheafBytes

/// Why somebody ends a connection (`format-spec/sync.md`, table 4).
package struct Farewell: Equatable, Sendable {
    package enum Code: UInt8, Sendable, CaseIterable {
        /// Nothing is wrong.
        case done = 0
        /// What came is not what the protocol says.
        case protocolBroken = 1
        /// There is no version of the protocol that both speak.
        case version = 2
        /// The other side has another database.
        case database = 3
        /// The other side is this peer itself, or has its key.
        case sameKey = 4
        /// The other side may not talk to this one.
        case refused = 5
        /// Something took longer than it may.
        case timedOut = 6
        /// The other side asks for more than this one gives.
        case limit = 7
        /// The store of this side cannot go on.
        case failed = 8
        /// The store of the other side does not have all that it has written.
        case forgotten = 9
    }

    package let code: Code
    /// For people; nothing of documents is in it.
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

    /// The farewell as the only frame of a connection.
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
            throw .invalid("something behind the text", at: reader.offset)
        }
    }
}
