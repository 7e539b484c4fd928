import SheafNetwork
import SheafTestSupport
import SheafTransport

/// A peer that discovers others, and gets packets and events from untrusted bytes.
///
/// Each event is a byte: 0 to 199 are packets, whose length follows in two bytes; others let time
/// pass, change the links, or doubt a peer.
public enum DiscoveryProbe {
    private static let key: DiscoveryKey? = try? DiscoveryKey(
        Credentials(
            NetworkConfiguration(
                databaseID: "cars", keyPair: .generate(),
                identity: .sharedKey(SharedKey([UInt8](repeating: 7, count: 32))))))

    private struct State {
        var machine: DiscoveryMachine
        var now: UInt64 = 1_000_000_000
        var links: [DiscoveryLink: LinkAddresses] = [:]
        var found: Set<AnnouncedName> = []
    }

    /// Handles the events; returns a description of the first broken rule.
    public static func read(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard let key else { return "the probe has no key" }
        let source = RandomSource(UInt64(bytes.count))
        let limits = DiscoveryMachine.Limits()
        let peer = PeerKey(unchecked: [UInt8](repeating: 3, count: 32))
        var state = State(
            machine: DiscoveryMachine(
                key, peer, port: 4_120, limits: limits, now: 1_000_000_000,
                random: { source.next() }))
        connect([1, 2], &state)
        var rest = bytes[...]
        while let kind = rest.popFirst() {
            switch kind {
            case 0..<200:
                guard let low = rest.popFirst(), let high = rest.popFirst() else { return nil }
                let length = min(Int(high) << 8 | Int(low), rest.count)
                let packet = UnsafeRawBufferPointer(rebasing: rest.prefix(length))
                rest = rest.dropFirst(length)
                let isIPv4 = kind & 2 == 0
                let address = IPAddress(
                    unchecked: isIPv4
                        ? [10, 1, 0, kind]
                        : [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [kind])
                state.machine.receive(
                    packet, on: DiscoveryLink(interface: 1 + UInt32(kind & 1), isIPv4: isIPv4),
                    from: PacketSource(address, port: kind & 4 == 0 ? 5_353 : 40_000),
                    now: state.now)
            case 200..<240:
                state.now += UInt64(1) << (UInt64(kind) % 44)
            case 240..<248: connect((kind & 7).isMultiple(of: 2) ? [1] : [1, 2], &state)
            default:
                if let name = state.found.min(by: { "\($0)" < "\($1)" }) {
                    state.machine.doubt(name, now: state.now)
                }
            }
            if let breach = settle(&state, limits) { return breach }
        }
        state.machine.stop()
        return check(&state, limits)
    }

    private static func connect(_ interfaces: [UInt32], _ state: inout State) {
        state.links = [:]
        for interface in interfaces {
            let own = [
                IPAddress(unchecked: [10, UInt8(interface), 0, 1]),
                IPAddress(
                    unchecked: [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [UInt8(interface)]),
            ]
            for isIPv4 in [true, false] {
                state.links[DiscoveryLink(interface: interface, isIPv4: isIPv4)] = LinkAddresses(
                    own: own.map { InterfaceAddress($0, prefixLength: $0.isIPv4 ? 16 : 64) },
                    announced: own)
            }
        }
        state.machine.setLinks(state.links, now: state.now)
    }

    /// Handles what is due, and checks that it ends.
    private static func settle(
        _ state: inout State, _ limits: DiscoveryMachine.Limits
    ) -> String? {
        state.machine.advance(now: state.now)
        if state.machine.deadline <= state.now { return "something is due again at once" }
        return check(&state, limits)
    }

    private static func check(_ state: inout State, _ limits: DiscoveryMachine.Limits) -> String? {
        for effect in state.machine.takeEffects() {
            switch effect {
            case .send(let bytes, let link, let receiver):
                guard state.links[link] != nil else { return "a packet for a link that is gone" }
                let message = bytes.withUnsafeBytes { try? DNSMessage($0) }
                guard let message, message.bytes == bytes else { return "a malformed packet" }
                // A response to a simple resolver repeats its questions.
                if bytes.count > 1_440, receiver == nil {
                    return "a packet of \(bytes.count) bytes"
                }
            case .found(let peer):
                state.found.insert(peer.name)
                guard state.found.count <= limits.peers else { return "too many peers" }
                guard !peer.addresses.isEmpty else { return "a peer without an address" }
                guard
                    peer.addresses.allSatisfy({ $0.address.isUnicast && $0.port > 0 })
                else { return "an address that is not unicast, or port 0" }
            case .lost(let name):
                guard state.found.remove(name) != nil else { return "an unknown peer was lost" }
            }
        }
        return nil
    }
}
