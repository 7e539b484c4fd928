package import SheafTransport

/// A name of a peer that has ended, or that has chosen another name.
struct Departure {
    let name: AnnouncedName
    let mark: [UInt8]
    let time: UInt64
}

/// Peers that have withdrawn their names, so that they are not dialed at addresses of presence.
extension DiscoveryMachine {
    /// Maximum number of names; of more, the newest are kept.
    package static let maximumDepartures = 64
    /// Time after which presence has removed the record of the peer, too.
    private static let departure = 120 * DiscoveryTimes.second

    /// Whether a peer has withdrawn one of its names in the last two minutes.
    package func hasDeparted(_ peer: PeerKey, now: UInt64) -> Bool {
        departures.contains { departure in
            now < departure.time + Self.departure
                && key.mark(of: peer, in: departure.name) == departure.mark
        }
    }

    mutating func recordDeparture(_ name: AnnouncedName, _ now: UInt64) {
        guard let mark = peers[name]?.texts.mark else { return }
        departures.removeAll {
            $0.name == name || $0.time + Self.departure <= now
        }
        departures.append(Departure(name: name, mark: mark, time: now))
        if departures.count > Self.maximumDepartures { departures.removeFirst() }
    }
}
