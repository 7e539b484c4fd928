package import SheafBytes
import SheafDocument
package import SheafHubLog
package import SheafReplication

extension SnapshotManifest {
    /// Blocks, and returns the manifest with a hash.
    package static func load(
        _ hash: XXH3.Hash128, from objects: any HubObjects
    ) throws(SnapshotFailure) -> SnapshotManifest {
        let name = HubObjectName.snapshot(hash)
        let bytes = try bytes(of: name, in: objects)
        let found = bytes.span.withUnsafeBytes { XXH3.hash128($0) }
        guard found == hash else {
            throw .damaged(object: name, reason: "its bytes do not have the hash in its name")
        }
        do throws(Malformed) {
            return try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try SnapshotManifest(decoding: bytes)
            }
        } catch {
            throw .damaged(object: name, reason: "\(error)")
        }
    }

    private static func bytes(
        of name: String, in objects: any HubObjects
    ) throws(SnapshotFailure) -> [UInt8] {
        do throws(HubLogError) {
            return try objects.object(name, limit: maximumLength)
        } catch {
            throw .log(error)
        }
    }

    /// Blocks, and returns the manifest with a hash; nil if it is missing or damaged.
    package static func loadUsable(
        _ hash: XXH3.Hash128, from objects: any HubObjects
    ) throws(SnapshotFailure) -> SnapshotManifest? {
        do throws(SnapshotFailure) { return try load(hash, from: objects) } catch {
            guard error.isOfObject else { throw error }
            return nil
        }
    }

    /// Maximum length of a manifest: parts with two varints, authors, and pauses.
    private static let maximumLength =
        HubLimits.snapshotParts * 36 + HubLimits.authors * 32 + HubLimits.pausedSites * 265 + 1_024

    /// Length of all parts.
    var length: UInt64 { parts.reduce(0) { $0 + $1.length } }
}
