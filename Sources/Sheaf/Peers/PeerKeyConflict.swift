import SheafBytes
import SheafDocument
package import SheafSync
public import SheafTransport

/// Another peer that uses the key of this one, as it describes itself.
///
/// Other peers treat the two as one peer, and see only one of them at a time. The usual cause is a
/// copied device, copied files, or a program started twice with one key. Each peer needs a unique
/// key.
public struct PeerKeyConflict: Sendable, Hashable {
    /// The key of both peers.
    public let key: PeerKey
    /// The readable name of the other device.
    public let deviceName: String
    /// The operating system of the other peer, or nil if it has not reported one.
    public let operatingSystem: String?
    /// The neighbors of the other peer.
    public let neighbors: [PeerKey]

    package init(_ record: PeerRecord) {
        key = PeerKey(unchecked: record.key)
        deviceName = record.description.name
        let system = record.description.operatingSystem
        operatingSystem = system.isEmpty ? nil : system
        neighbors = record.neighbors.map { PeerKey(unchecked: $0.key) }
    }
}

extension PeerKeyConflict: CustomStringConvertible {
    /// The conflict as a sentence, with the name and the neighbors of the other device.
    public var description: String {
        // The name is quoted as JSON, since the other peer chooses it.
        var device =
            deviceName.isEmpty ? "a device without a name" : Value.string(deviceName.shortened).json
        if let operatingSystem { device += " (\(operatingSystem.shortened))" }
        if let neighbor = neighbors.first {
            device += ", to \(neighbor)"
            if neighbors.count > 1 { device += " and \(neighbors.count - 1) more" }
        }
        return "another peer with this key, \(key), is connected from \(device)"
    }
}
