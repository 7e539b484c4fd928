import SheafTransport

/// The discovery of peers on the sockets of this host's interfaces.
///
/// The network loop waits for its descriptors, and calls it when something has arrived or is due.
final class LocalDiscovery {
    private static let groups = (
        IPAddress(unchecked: [224, 0, 0, 251]),
        IPAddress(unchecked: [0xFF, 0x02] + [UInt8](repeating: 0, count: 13) + [0xFB])
    )
    /// Time between two scans of the interfaces, for changes that the system does not report.
    private static let (scan, blindScan) = (
        30 * DiscoveryTimes.second, 2 * DiscoveryTimes.second
    )
    /// Maximum number of packets read from a socket before the connections are served again.
    private static let packetsAtOnce = 16

    let key: DiscoveryKey
    private var machine: DiscoveryMachine
    /// The listeners on the announced port.
    private let listeners: [SocketAddress]
    private let allListeners: [SocketAddress]
    private var sockets: [DiscoveryLink: MulticastSocket] = [:]
    private let changes = InterfaceChanges()
    private var nextScan: UInt64
    /// The addresses of this host that have been removed since the last call of `advance`.
    private(set) var removed: Set<IPAddress> = []
    private var own: Set<IPAddress> = []
    /// Where other machines can connect to this peer, in the order of the interfaces.
    private(set) var accepting: [PeerAddress] = []
    private var networks: [InterfaceAddress] = []
    /// The error of the last scan; nil if all sockets could be opened.
    private(set) var failure: NetworkError?
    private var polled: [(link: DiscoveryLink, index: Int)] = []
    private var changesIndex: Int?

    /// Starts discovery for a peer that accepts connections on these addresses.
    init(
        _ key: DiscoveryKey, _ peer: PeerKey, _ listeners: [SocketAddress], now: UInt64,
        random: @escaping @Sendable () -> UInt64
    ) {
        self.key = key
        // One port is announced; the addresses are those that accept connections to it.
        let reachable = listeners.filter { !$0.isLoopback }
        allListeners = reachable
        let port = (reachable.first { $0.isWildcard } ?? reachable.first)?.port
        self.listeners = reachable.filter { $0.port == port }
        machine = DiscoveryMachine(key, peer, port: port, now: now, random: random)
        nextScan = now
    }

    /// The name under which this peer announces itself; nil if it does not.
    var name: AnnouncedName? { machine.name }

    /// The time of the next event that needs no packet.
    var deadline: UInt64 { min(machine.deadline, nextScan) }

    /// Adds the descriptors to wait for.
    func prepare(_ poller: Poller) throws(NetworkError) {
        (polled, changesIndex) = ([], nil)
        for (link, socket) in sockets {
            polled.append((link, try poller.addTemporary(socket.number)))
        }
        if let changes { changesIndex = try poller.addTemporary(changes.number) }
    }

    /// Reads what has arrived.
    func read(_ poller: Poller, into buffer: UnsafeMutableRawBufferPointer, now: UInt64) {
        for (link, index) in polled where poller.isReadable(index) {
            guard let socket = sockets[link] else { continue }
            for _ in 0..<Self.packetsAtOnce {
                guard let packet = socket.receive(into: buffer) else { break }
                guard let address = packet.from.ip,
                    [0, link.interface].contains(packet.from.interface)
                else { continue }
                machine.receive(
                    UnsafeRawBufferPointer(rebasing: buffer[..<packet.count]), on: link,
                    from: PacketSource(address, port: packet.from.port), now: now)
            }
        }
        if let changesIndex, poller.isReadable(changesIndex) {
            changes?.drain(into: buffer)
            nextScan = now
        }
    }

    /// Handles what is due; returns the peers that were found and lost, in order.
    func advance(now: UInt64) -> [DiscoveryMachine.Effect] {
        removed = []
        if nextScan <= now { scan(now) }
        machine.advance(now: now)
        return perform()
    }

    /// Asks whether a peer that cannot be reached still exists.
    func doubt(_ name: AnnouncedName, now: UInt64) {
        machine.doubt(name, now: now)
    }

    /// Whether a peer has lately withdrawn one of its names.
    func hasDeparted(_ peer: PeerKey, now: UInt64) -> Bool {
        machine.hasDeparted(peer, now: now)
    }

    /// Whether an address is reached without a router.
    func reaches(_ address: IPAddress) -> Bool {
        networks.contains { $0.reaches(address) }
    }

    /// Sends goodbyes, and closes all sockets.
    func stop() {
        machine.stop()
        _ = perform()
        sockets = [:]
    }

    private func perform() -> [DiscoveryMachine.Effect] {
        machine.takeEffects().filter { effect in
            guard case .send(let bytes, let link, let receiver) = effect else { return true }
            let address = receiver.map {
                SocketAddress($0.address, port: $0.port, interface: link.interface)
            }
            sockets[link]?.send(bytes, to: address)
            return false
        }
    }

    /// Opens a socket for each new interface, and closes those of interfaces that are gone.
    private func scan(_ now: UInt64) {
        guard let interfaces = NetworkInterface.all() else {
            nextScan = now + Self.blindScan
            return
        }
        nextScan = now + (changes == nil ? Self.blindScan : Self.scan)
        failure = nil
        var links: [DiscoveryLink: LinkAddresses] = [:]
        networks = interfaces.flatMap(\.addresses)
        accepting = networks.map(\.address).filter { !$0.isLinkLocalIPv6 }.flatMap { address in
            allListeners.filter { $0.accepts(address) }.compactMap { listener in
                PeerAddress(address.bytes, port: listener.port)
            }
        }
        for interface in interfaces where interface.carriesMulticast {
            let addresses = LinkAddresses(
                own: interface.addresses,
                announced: interface.addresses.map(\.address).filter(isAnnounced),
                isRunning: interface.isRunning)
            for isIPv4 in [true, false]
            where interface.addresses.contains(where: { $0.address.isIPv4 == isIPv4 }) {
                let link = DiscoveryLink(interface: interface.index, isIPv4: isIPv4)
                do throws(NetworkError) {
                    if sockets[link] == nil {
                        sockets[link] = try MulticastSocket(
                            isIPv4 ? Self.groups.0 : Self.groups.1, port: MulticastDNS.port,
                            interface: interface.index)
                    }
                    links[link] = addresses
                } catch {
                    failure = NetworkError(error.rule, "\(interface.name): \(error.text)")
                    // The reason may pass, for example when another program ends.
                    nextScan = min(nextScan, now + Self.blindScan)
                }
            }
        }
        let before = own
        own = Set(links.values.flatMap { $0.own.map(\.address) })
        removed = before.subtracting(own)
        sockets = sockets.filter { links[$0.key] != nil }
        machine.setLinks(links, now: now)
    }

    private func isAnnounced(_ address: IPAddress) -> Bool {
        listeners.contains { $0.accepts(address) }
    }
}

extension SocketAddress {
    /// Whether a listener on this address accepts connections to an address of this host.
    fileprivate func accepts(_ address: IPAddress) -> Bool {
        ip == address || isWildcard && ip?.isIPv4 == address.isIPv4
    }
}
