import Foundation
import Sheaf

/// Names used by apps for older versions of the reference system.
extension Ditto {
    /// The version of this library.
    public var sdkVersion: String { Self.version }

    /// Whether the database may sync; always true, since no license is needed.
    public var activated: Bool { isActivated }

    /// The sizes of the files of the database.
    public var diskUsage: DittoDiskUsage { DittoDiskUsage(persistenceDirectory) }

    /// Has no effect: garbage is collected automatically.
    public func runGarbageCollection() {
        DittoLogger.write(.info, "runGarbageCollection has no effect: collection is automatic")
    }

    /// Unavailable: the site of a store can change, so no fixed number identifies the device.
    @available(*, unavailable, message: "use `presence.graph.localPeer.peerKeyString`")
    public var siteID: UInt64 { 0 }

    /// Unavailable: there is no cloud to authenticate with.
    @available(*, unavailable, message: "use `DittoConfig(connect: .smallPeersOnly(privateKey:))`")
    public var auth: Never? { nil }

    /// Unavailable: transport conditions are logged.
    @available(*, unavailable, message: "use `DittoLogger.setCustomLogCallback(_:)`")
    public var delegate: Never? { nil }

    /// Unavailable: information about small peers is not collected.
    @available(*, unavailable, message: "use `presence.setPeerMetadata(_:)` and `presence.graph`")
    public var smallPeerInfo: Never? { nil }

    /// Unavailable: connections are listed in the presence graph.
    @available(
        *, unavailable,
        message:
            "use `presence.graph`, its `disconnectedPeers` and `SELECT * FROM system:data_sync_info`"
    )
    public func transportDiagnostics() throws {}
}

/// Unavailable: transport conditions are logged.
@available(*, unavailable, message: "use `DittoLogger.setCustomLogCallback(_:)`")
public enum DittoTransportCondition: Sendable {}

/// Unavailable: counters are written by statements.
@available(
    *, unavailable,
    message: "use the statement `UPDATE COLLECTION c (n COUNTER) APPLY n INCREMENT BY 1`"
)
public final class DittoCounter: Sendable {}

/// Unavailable: registers are written by statements.
@available(
    *, unavailable,
    message: "use the statement `UPDATE COLLECTION c (f REGISTER) SET f = :value`"
)
public final class DittoRegister: Sendable {}

extension DittoDocument {
    /// Unavailable: documents are decoded from JSON.
    @available(
        *, unavailable, message: "decode `jsonData()` of a query result item with JSONDecoder"
    )
    public func typed<T: Decodable>(as type: T.Type) throws -> T {
        throw DittoError.unsupported("use JSONDecoder with jsonData()")
    }
}

extension DittoStoreObserver {
    /// Unavailable: an observer does not retain its database.
    @available(*, unavailable, message: "store the `Ditto` alongside the observer")
    public var ditto: Ditto? { nil }
}
