import SheafBytes
import SheafDocument
package import SheafSync

/// Another peer that has the key of this one, as it describes itself.
///
/// Others take the two for one peer, and know only one of them at a time. It mostly comes of a copy: of a device, of
/// its files, or of a program that was started twice with one key. Each of them has to get a key of its own.
public struct PeerKeyConflict: Sendable, Hashable {
    /// The key that both have.
    public let key: PeerKey
    /// What people call the other device.
    public let deviceName: String
    /// The system that it runs on; none where it has not said.
    public let operatingSystem: String?
    /// The peers that it is connected with.
    public let neighbors: [PeerKey]

    package init(_ record: PeerRecord) {
        key = PeerKey(unchecked: record.key)
        deviceName = record.portrait.name
        let system = record.portrait.operatingSystem
        operatingSystem = system.isEmpty ? nil : system
        neighbors = record.neighbors.map { PeerKey(unchecked: $0.key) }
    }
}

extension PeerKeyConflict: CustomStringConvertible {
    public var description: String {
        // As JSON, since a peer chooses its device name.
        var place =
            deviceName.isEmpty ? "a device without a name" : Value.string(deviceName.shortened).json
        if let operatingSystem { place += " (\(operatingSystem.shortened))" }
        if let neighbor = neighbors.first {
            place += ", to \(neighbor)"
            if neighbors.count > 1 { place += " and \(neighbors.count - 1) more" }
        }
        return "another peer with this key, \(key), is connected from \(place)"
    }
}
