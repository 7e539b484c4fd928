public import Foundation
import SheafBytes

/// How other peers are found and reached: over TCP, at addresses that are named here.
///
///     ditto.updateTransportConfig { config in
///         config.listen.tcp.isEnabled = true
///         config.listen.tcp.port = 4040
///         config.connect.tcpServers.insert("192.168.1.20:4040")
///     }
///
/// Nothing is found by itself. What is enabled of `peerToPeer` has no effect, and a warning says so when sync
/// starts; a web socket, or a sync group that would keep peers apart, is an error then. Without an address
/// and without `listen`, sync starts and the log notes that no peer can be reached.
public struct DittoTransportConfig: Hashable, Sendable {
    /// Ways to find peers that are near, of which there are none here.
    public var peerToPeer = PeerToPeer()
    /// Whom this peer connects with.
    public var connect = Connect()
    /// Where this peer waits for others.
    public var listen = Listen()
    /// What holds for all of it.
    public var global = Global()

    public init() {}

    /// Says for all ways to find peers whether they are to be used.
    public mutating func setAllPeerToPeerEnabled(_ enabled: Bool) {
        peerToPeer.bluetoothLE.isEnabled = enabled
        peerToPeer.lan.isEnabled = enabled
        peerToPeer.awdl.isEnabled = enabled
    }

    /// Wants all ways to find peers.
    public mutating func enableAllPeerToPeer() { setAllPeerToPeerEnabled(true) }

    public struct PeerToPeer: Hashable, Sendable {
        public var bluetoothLE = Way()
        public var lan = Way()
        public var awdl = Way()

        /// One way to find peers.
        public struct Way: Hashable, Sendable {
            public var isEnabled = false
        }
    }

    public struct Connect: Hashable, Sendable {
        /// Addresses with a port: "192.168.1.20:4040", "example.org:4040" or "[fe80::1]:4040".
        public var tcpServers: Set<String> = []
        /// Addresses of web sockets, which nothing is carried over: sync does not start with any.
        public var webSocketURLs: Set<String> = []
        /// In how many seconds an address is tried again at the latest.
        public var retryInterval: TimeInterval = 5
    }

    public struct Listen: Hashable, Sendable {
        public var tcp = TCP()
        public var http = HTTP()

        public struct TCP: Hashable, Sendable {
            public var isEnabled = false
            /// A numeric address: "0.0.0.0" is all of this machine, "127.0.0.1" this machine alone.
            public var interfaceIP = "0.0.0.0"
            /// 0 is any port that is free.
            public var port: UInt16 = 4040
        }

        /// A server of web sockets, which there is none of: sync does not start where it is enabled.
        public struct HTTP: Hashable, Sendable {
            public var isEnabled = false
        }
    }

    public struct Global: Hashable, Sendable {
        /// Peers of other groups do not sync; there are no groups, and sync does not start but with 0.
        public var syncGroup: UInt32 = 0
        /// Which peers the server brings together, which has no effect.
        public var routingHint: UInt32 = 0
    }
}

extension DittoTransportConfig {
    /// What is wanted and has no effect, for people.
    var ineffective: [String] {
        var names: [String] = []
        if peerToPeer.bluetoothLE.isEnabled { names.append("peerToPeer.bluetoothLE") }
        if peerToPeer.lan.isEnabled { names.append("peerToPeer.lan") }
        if peerToPeer.awdl.isEnabled { names.append("peerToPeer.awdl") }
        if global.routingHint != 0 { names.append("global.routingHint") }
        return names
    }

    /// Throws where sync would not do what is asked for.
    func check() throws(DittoError) {
        let instead = Self.instead
        if let url = connect.webSocketURLs.min() {
            throw .transportError(
                message:
                    "connect.webSocketURLs has \("\(url)".shortened(to: ErrorText.limit)), and web sockets are not supported; \(instead)"
            )
        }
        if listen.http.isEnabled {
            throw .transportError(
                message:
                    "listen.http.isEnabled asks for a server of web sockets, which is not supported; "
                    + instead)
        }
        if global.syncGroup != 0 {
            throw .transportError(
                message:
                    "global.syncGroup is \(global.syncGroup), and sync groups are not supported: peers of "
                    + "all groups would sync; give peers that must not sync another database id")
        }
    }

    /// Note for the log where sync starts with no peer to reach; nil where there may be one.
    var loneliness: String? {
        guard connect.tcpServers.isEmpty, !listen.tcp.isEnabled else { return nil }
        return "sync is active, and no peer can be reached yet; \(Self.instead)"
    }

    private static let instead =
        "name addresses in connect.tcpServers, or accept connections with listen.tcp.isEnabled"
}
