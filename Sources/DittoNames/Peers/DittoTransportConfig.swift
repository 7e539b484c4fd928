public import Foundation
import Sheaf
import SheafBytes

/// The addresses of TCP connections, and discovery on the local network.
///
///     ditto.updateTransportConfig { config in
///         config.listen.tcp.isEnabled = true
///         config.listen.tcp.port = 4040
///         config.connect.tcpServers.insert("192.168.1.20:4040")
///         config.peerToPeer.lan.isEnabled = true
///     }
///
/// Of `peerToPeer`, only `lan` has an effect; starting sync logs a warning for the others. A web
/// socket or a sync group makes the start fail. Without an address, `listen` and `lan`, sync
/// starts, and the log notes that no peer can be reached.
public struct DittoTransportConfig: Hashable, Sendable {
    /// The discovery of nearby peers.
    public var peerToPeer = PeerToPeer()
    /// The addresses to connect to.
    public var connect = Connect()
    /// The addresses to listen on.
    public var listen = Listen()
    /// Settings for all connections.
    public var global = Global()

    /// Creates a configuration without addresses.
    public init() {}

    /// Enables or disables all kinds of discovery.
    public mutating func setAllPeerToPeerEnabled(_ enabled: Bool) {
        peerToPeer.bluetoothLE.isEnabled = enabled
        peerToPeer.lan.isEnabled = enabled
        peerToPeer.awdl.isEnabled = enabled
    }

    /// Enables all kinds of discovery.
    public mutating func enableAllPeerToPeer() { setAllPeerToPeerEnabled(true) }

    /// The discovery of nearby peers.
    public struct PeerToPeer: Hashable, Sendable {
        /// Discovery over Bluetooth Low Energy, which is not supported.
        public var bluetoothLE = Way()
        /// Discovery in the local network.
        public var lan = LAN()
        /// Discovery over Apple Wireless Direct Link, which is not supported.
        public var awdl = Way()

        /// Discovery in the local network, by multicast DNS.
        ///
        /// If `listen.tcp` is not enabled, a free port of all IPv4 addresses accepts connections.
        public struct LAN: Hashable, Sendable {
            /// Whether peers of the database are looked for and connected to.
            public var isEnabled = false
            /// Whether multicast DNS is used; if not, `isEnabled` has no effect.
            public var isMdnsEnabled = true
        }

        /// One kind of discovery.
        public struct Way: Hashable, Sendable {
            /// Whether it is requested; that has no effect but a warning.
            public var isEnabled = false
        }
    }

    /// The addresses to connect to.
    public struct Connect: Hashable, Sendable {
        /// Addresses with a port: "192.168.1.20:4040", "example.org:4040" or "[fe80::1]:4040".
        public var tcpServers: Set<String> = []
        /// Addresses of web sockets, which are not supported: sync does not start with any.
        public var webSocketURLs: Set<String> = []
        /// Maximum time between attempts to connect to an address, in seconds.
        public var retryInterval: TimeInterval = 5
    }

    /// The addresses to listen on.
    public struct Listen: Hashable, Sendable {
        /// The TCP address.
        public var tcp = TCP()
        /// The web socket server, which is not supported.
        public var http = HTTP()

        /// A TCP address to listen on.
        public struct TCP: Hashable, Sendable {
            /// Whether peers can connect to this one.
            public var isEnabled = false
            /// A numeric address: "0.0.0.0" for all interfaces, "127.0.0.1" for this machine only.
            public var interfaceIP = "0.0.0.0"
            /// The port; 0 selects a free one.
            public var port: UInt16 = 4040
        }

        /// A web socket server, which is not supported: sync does not start if it is enabled.
        public struct HTTP: Hashable, Sendable {
            /// Whether it is enabled; sync then does not start.
            public var isEnabled = false
        }
    }

    /// Settings for all connections.
    public struct Global: Hashable, Sendable {
        /// The sync group; groups are not supported, so sync starts only with 0.
        public var syncGroup: UInt32 = 0
        /// The routing hint for servers, which has no effect.
        public var routingHint: UInt32 = 0
    }
}

extension DittoTransportConfig {
    /// Where peers are looked for.
    var discovery: PeerDiscovery {
        peerToPeer.lan.isEnabled && peerToPeer.lan.isMdnsEnabled ? .localNetwork : .off
    }

    /// The addresses to listen on.
    var listening: [String] {
        let tcp = listen.tcp
        guard tcp.isEnabled else { return discovery == .off ? [] : ["0.0.0.0:0"] }
        let isBare = tcp.interfaceIP.contains(":") && !tcp.interfaceIP.hasPrefix("[")
        let host = isBare ? "[\(tcp.interfaceIP)]" : tcp.interfaceIP
        return ["\(host):\(tcp.port)"]
    }

    /// The names of enabled settings that have no effect, for the log.
    var ineffective: [String] {
        var names: [String] = []
        if peerToPeer.bluetoothLE.isEnabled { names.append("peerToPeer.bluetoothLE") }
        if peerToPeer.awdl.isEnabled { names.append("peerToPeer.awdl") }
        if global.routingHint != 0 { names.append("global.routingHint") }
        return names
    }

    /// Throws if the configuration has settings that are not supported.
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
                    "listen.http.isEnabled requires a web socket server, which is not supported; "
                    + instead)
        }
        if global.syncGroup != 0 {
            throw .transportError(
                message:
                    "global.syncGroup is \(global.syncGroup), and sync groups are not supported: peers of "
                    + "all groups would sync; use another database id for peers that must not sync")
        }
    }

    /// The log message for a configuration that reaches no peer, or nil.
    var loneliness: String? {
        guard connect.tcpServers.isEmpty, listening.isEmpty else { return nil }
        return "sync is active, but no peer can be reached; \(Self.instead)"
    }

    private static let instead =
        "add addresses to connect.tcpServers, find peers with peerToPeer.lan, or accept "
        + "connections with listen.tcp.isEnabled"
}
