import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage

/// A decoder of what commits changed, as the data of events.
struct ChangeDecoder {
    /// Maximum number of changes of an event.
    private static let maximumCount = 100

    private let snapshot: DocumentSnapshot
    private let localSite: String

    /// Creates a decoder for commits up to that of a snapshot.
    init(_ snapshot: DocumentSnapshot) {
        self.snapshot = snapshot
        let record = StoreKey.site.bytes.withUnsafeBytes { key in
            (try? snapshot.log.payload(of: key)).flatMap { try? SiteRecord(decoding: $0) }
        }
        localSite = Self.text(record?.site ?? .initial)
    }

    /// Returns the data of the event of a commit, without its changes if `hasChanges` is false.
    func data(of commit: LoggedCommit, hasChanges: Bool) throws(StorageError) -> Object {
        var site = localSite
        var changes: [Value] = []
        var isTruncated = false
        for logged in try commit.operations() {
            let operation = logged.operation
            switch StoreKey(operation.key) {
            case .origin:
                guard let origin = try? CommitOrigin(decoding: operation.payload) else { break }
                site = Self.text(origin.stamp.site)
            case .document(let number, let id) where hasChanges:
                guard changes.count < Self.maximumCount else {
                    isTruncated = true
                    break
                }
                changes.append(.object(change(number, id, operation)))
            default: break
            }
        }
        var data: Object = [
            "commit": .integer(Int64(clamping: commit.id)),
            "time": commit.time.map { .integer(Int64(clamping: $0)) } ?? .null,
            "site": .string(site),
        ]
        guard hasChanges else { return data }
        data["changes"] = .array(changes)
        data["isTruncated"] = .bool(isTruncated)
        return data
    }

    private func change(_ collection: UInt16, _ id: [UInt8], _ operation: Operation) -> Object {
        let collections = snapshot.catalog.collections
        let isKnown = Int(collection) < collections.count
        var change: Object = [
            "collection": isKnown ? .string(collections[Int(collection)]) : .null,
            "document": (try? DocumentID.id(of: id)).map(JSONBytes.visible) ?? .null,
            "action": .string("evict"), "fields": .array([]),
        ]
        guard operation.kind != .remove else { return change }
        let isNew = operation.previous == .none
        change["action"] = .string(isNew ? "insert" : "update")
        // A document that cannot be decoded is listed without its fields; `verify` reports it.
        guard let payload = try? DocumentPayload(operation.payload) else { return change }
        if let state = payload.state, (try? state.exists()) == false {
            change["action"] = .string("delete")
        }
        change["fields"] = .array(((try? fields(of: payload)) ?? []).map(Value.string))
        return change
    }

    /// Returns the paths of the fields that were written, with dots.
    private func fields(of payload: DocumentPayload) throws(Malformed) -> [String] {
        let base = try payload.baseVector()
        var found: [String] = []
        var known: Set<[UInt8]> = []
        for document in [payload.state, payload.delta] {
            guard let document else { continue }
            try DotWalk.visit(document, snapshot.names) { item in
                switch item.kind {
                case .named, .overrides, .mark: return
                case .empty: break
                default: guard let stamp = item.stamp, !base.covers(stamp) else { return }
                }
                let path = item.path.joined(separator: ".")
                guard !path.isEmpty, known.insert(Array(path.utf8)).inserted else { return }
                found.append(path)
            }
        }
        return found
    }

    /// Returns a site as 16 hexadecimal digits.
    private static func text(_ site: Site) -> String {
        let digits = String(site.rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
