import SheafBytes

/// The type of a frame (`format-spec/sync.md`, table 2).
package enum FrameType: UInt8, Sendable, CaseIterable {
    case hello = 1
    case subscribe = 2
    case segment = 3
    case acknowledge = 4
    case credit = 5
    case ask = 6
    case answer = 7
    case want = 8
    case ping = 9
    case pong = 10
    case close = 11
    case restart = 12
    case announce = 13
    case announceOnly = 14
    case quarantine = 15
    case refused = 16
    case lostWrite = 18
    case site = 19
    case seek = 20
    case offer = 21
    case fetch = 22
    case part = 23
    case lacking = 24
    case askProof = 25
    case proven = 26
    case pauses = 27
    case historyDropped = 28
    case presence = 30
    case presenceAcknowledged = 31
}

/// A unit of the wire protocol.
package struct Frame: Equatable, Sendable {
    package let type: FrameType
    package let body: [UInt8]

    package init(_ type: FrameType, _ body: [UInt8]) {
        self.type = type
        self.body = body
    }

    /// Length of the frame length and the checksum, which precede the type.
    static let headerLength = 8

    /// Returns the checksum, seeded with the number of the frame in its direction.
    static func checksum(_ bytes: UnsafeRawBufferPointer, number: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: XXH3.hash64(bytes, seed: number))
    }
}

/// A message that a side sends at any time while the session is open, and that has no response.
package protocol UnsolicitedMessage: Sendable {
    static var type: FrameType { get }
    /// The body of the frame.
    var bytes: [UInt8] { get }
}

/// An encoder of consecutive frames of one direction.
package struct FrameWriter: Sendable {
    private var number: UInt64 = 0

    package init() {}

    package mutating func bytes(of frame: Frame) -> [UInt8] {
        defer { number &+= 1 }
        var writer = ByteWriter(capacity: Frame.headerLength + 1 + frame.body.count)
        writer.write(UInt32(frame.body.count + 1))
        writer.write(UInt32(0))
        writer.write(frame.type.rawValue)
        writer.write(frame.body)
        let checksum = writer.bytes.span.withUnsafeBytes {
            Frame.checksum(
                UnsafeRawBufferPointer(rebasing: $0[Frame.headerLength...]), number: number)
        }
        writer.patch(checksum, at: 4)
        return writer.bytes
    }
}

/// A decoder of consecutive frames of one direction from byte chunks of any size.
package struct FrameReader: Sendable {
    /// Maximum frame length; a longer frame is refused as soon as its length is received.
    package var limit: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var number: UInt64 = 0

    package init(limit: Int = SyncLimits.greetingLength) {
        self.limit = limit
    }

    /// Number of buffered bytes.
    package var waitingLength: Int { buffer.count - start }

    /// Buffers received bytes.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if start > limit {
            buffer.removeFirst(start)
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Releases the memory of the buffer, if no bytes are buffered.
    package mutating func releaseBuffer() {
        guard waitingLength == 0 else { return }
        (buffer, start) = ([], 0)
    }

    /// Returns the next frame, or nil until it is complete.
    package mutating func next() throws(WireError) -> Frame? {
        let length = waitingLength
        guard length >= 4 else { return nil }
        let (limit, number) = (limit, number)
        let start = start
        let frame = try buffer.span.withUnsafeBytes { buffer throws(WireError) -> Frame? in
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[start...])
            let announced = Int(bytes.loadUnaligned(as: UInt32.self).littleEndian)
            guard announced > 0 else { throw .frameEmpty }
            guard announced <= limit else {
                throw .frameTooLong(length: UInt64(announced), limit: limit)
            }
            guard bytes.count >= Frame.headerLength + announced else { return nil }
            let rest = UnsafeRawBufferPointer(
                rebasing: bytes[Frame.headerLength..<Frame.headerLength + announced])
            let checksum = bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self).littleEndian
            guard checksum == Frame.checksum(rest, number: number) else {
                throw .checksum(frame: number)
            }
            guard let type = FrameType(rawValue: rest[0]) else { throw .unknownType(rest[0]) }
            return Frame(type, Array(rest.dropFirst()))
        }
        guard let frame else { return nil }
        self.start += Frame.headerLength + 1 + frame.body.count
        self.number &+= 1
        if self.start == self.buffer.count { removeAll() }
        return frame
    }

    /// Removes all bytes, which were returned; an idle connection keeps at most a small buffer.
    private mutating func removeAll() {
        start = 0
        if buffer.capacity > Self.keptLength {
            buffer = []
        } else {
            buffer.removeAll(keepingCapacity: true)
        }
    }

    /// Maximum length of a buffer that is kept while it is empty.
    private static let keptLength = 1_024
}
