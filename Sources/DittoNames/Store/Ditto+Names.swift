import Foundation
import Sheaf

/// Names of the reference system that older apps use.
extension Ditto {
    /// The version of this library.
    public var sdkVersion: String { Self.version }

    /// Whether the database may sync: it always may, no license is needed.
    public var activated: Bool { isActivated }

    /// How many bytes the files of the database take.
    public var diskUsage: DittoDiskUsage { DittoDiskUsage(persistenceDirectory) }

    /// Has no effect: what nothing needs any more is collected by itself.
    public func runGarbageCollection() {
        DittoLogger.write(.info, "runGarbageCollection has no effect: it happens by itself")
    }

    /// The stamps of a store have a site that can change, so no number stands for the device.
    @available(*, unavailable, message: "use `presence.graph.localPeer.peerKeyString`")
    public var siteID: UInt64 { 0 }

    /// No cloud logs a peer in.
    @available(*, unavailable, message: "use `DittoConfig(connect: .smallPeersOnly(privateKey:))`")
    public var auth: Never? { nil }

    /// Conditions of transports are messages of the log.
    @available(*, unavailable, message: "use `DittoLogger.setCustomLogCallback(_:)`")
    public var delegate: Never? { nil }

    /// Nothing gathers information about small peers.
    @available(*, unavailable, message: "use `presence.setPeerMetadata(_:)` and `presence.graph`")
    public var smallPeerInfo: Never? { nil }

    /// Connections are in the presence graph.
    @available(
        *, unavailable,
        message:
            "use `presence.graph`, its `disconnectedPeers` and `SELECT * FROM system:data_sync_info`"
    )
    public func transportDiagnostics() throws {}
}

/// The condition of a transport, which the log has.
@available(*, unavailable, message: "use `DittoLogger.setCustomLogCallback(_:)`")
public enum DittoTransportCondition: Sendable {}

/// A counter of the older calls.
@available(
    *, unavailable,
    message: "use the statement `UPDATE COLLECTION c (n COUNTER) APPLY n INCREMENT BY 1`"
)
public final class DittoCounter: Sendable {}

/// A register of the older calls.
@available(
    *, unavailable,
    message: "use the statement `UPDATE COLLECTION c (f REGISTER) SET f = :value`"
)
public final class DittoRegister: Sendable {}

extension DittoDocument {
    /// Documents are decoded from JSON.
    @available(
        *, unavailable, message: "decode `jsonData()` of a query result item with JSONDecoder"
    )
    public func typed<T: Decodable>(as type: T.Type) throws -> T {
        throw DittoError.unsupported("use JSONDecoder with jsonData()")
    }
}

extension DittoStoreObserver {
    /// An observer does not hold its database.
    @available(*, unavailable, message: "keep the `Ditto` beside the observer")
    public var ditto: Ditto? { nil }
}
