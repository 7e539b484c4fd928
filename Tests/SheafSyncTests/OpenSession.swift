import SheafBytes
import SheafDocument
import SheafSync

/// A session that has received a hello; the test writes all frames of its peer.
struct OpenSession {
    var session: SyncSession
    private var other = FrameWriter()

    init(
        _ versions: ClosedRange<UInt64> = Hello.supportedVersions,
        stagedLength: Int = SyncLimits.stagedLength
    ) {
        session = SyncSession(Self.hello(1, versions), stagedLength: stagedLength, at: 0)
        _ = session.drainEffects()
        _ = receive(.hello, Self.hello(2).bytes)
    }

    /// Delivers a frame from the peer and returns the session's effects.
    mutating func receive(_ type: FrameType, _ body: [UInt8]) -> [SyncSession.Effect] {
        receive([Frame(type, body)])
    }

    /// Delivers frames from the peer that arrive together.
    mutating func receive(_ frames: [Frame]) -> [SyncSession.Effect] {
        let bytes = frames.flatMap { other.bytes(of: $0) }
        bytes.withUnsafeBytes { session.receive($0, at: 1) }
        return session.drainEffects()
    }

    /// Returns the frames that effects send.
    static func frames(in effects: [SyncSession.Effect]) -> [Frame] {
        effects.compactMap { effect in
            guard case .send(let bytes) = effect, let type = FrameType(rawValue: bytes[8])
            else { return nil }
            return Frame(type, Array(bytes[9...]))
        }
    }

    static func hello(
        _ number: UInt8, _ versions: ClosedRange<UInt64> = Hello.supportedVersions
    ) -> Hello {
        let database = Hello.DatabaseID(low: 1, high: 2)
        return Hello(
            versions: versions, database: database, peerKey: Array(repeating: number, count: 32),
            site: Site(rawValue: UInt64(number)), log: database, nonce: 1, wallMilliseconds: 1,
            isServer: false, name: "")
    }
}
