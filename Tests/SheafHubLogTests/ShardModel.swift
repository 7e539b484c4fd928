import SheafBytes
import SheafDocument
import SheafHubLog

/// A message as its author appended it, for the model.
struct SentMessage {
    let author: HubAuthor
    let sequence: UInt64
    /// Sequence up to which the author knew its messages to be stored.
    let confirmed: UInt64
    /// The sequences of its group; nil for a mark.
    let group: ClosedRange<UInt64>?
    /// The sequences that the group replaces.
    let replaces: ClosedRange<UInt64>?
    let read: UInt64
    let digest: UInt64
    let payload: [UInt8]
}

/// An observable result of reading one entry.
enum ReadResult: Hashable {
    case applied(HubAuthor, ClosedRange<UInt64>)
    case repetition(entry: UInt64)
    case early(entry: UInt64)
    case damage(entry: UInt64)
    case otherDigest(entry: UInt64)
}

/// A naive reader: sets of sequences, and all digests.
struct ShardModel {
    private let log: HubLogID
    private var digests: [UInt64] = [0]
    private var seen: [HubAuthor: Set<UInt64>] = [:]
    private var confirmed: [HubAuthor: UInt64] = [:]
    private var arrived: [HubAuthor: Set<UInt64>] = [:]
    private var finished: [HubAuthor: Set<UInt64>] = [:]
    private(set) var results: [ReadResult] = []

    init(log: HubLogID) {
        self.log = log
    }

    /// The digest of all entries.
    var digest: UInt64 { digests[digests.count - 1] }

    /// Whether a message of an author is missing that it knew to be stored.
    func isMissingConfirmed(_ author: HubAuthor) -> Bool {
        guard let most = confirmed[author], most > 0 else { return false }
        return !seen[author, default: [0]].isSuperset(of: 1...most)
    }

    /// Reads the next entry; nil stands for a lost one, and one without a message for damage.
    mutating func read(_ bytes: [UInt8]?, _ message: SentMessage?) {
        let entry = UInt64(digests.count)
        let own = bytes.map { $0.withUnsafeBytes { XXH3.hash64($0) } } ?? 0
        var writer = ByteWriter()
        writer.write(digest)
        writer.write(own)
        digests.append(writer.bytes.withUnsafeBytes { XXH3.hash64($0, seed: log.low) })
        guard bytes != nil else { return }
        guard let message else {
            results.append(.damage(entry: entry))
            return
        }
        if digests[Int(message.read)] != message.digest {
            results.append(.otherDigest(entry: message.read))
        }
        let author = message.author
        guard !seen[author, default: [0]].contains(message.sequence) else {
            results.append(.repetition(entry: entry))
            return
        }
        if !seen[author, default: [0]].contains(message.sequence - 1) {
            results.append(.early(entry: entry))
        }
        seen[author, default: [0]].insert(message.sequence)
        arrived[author, default: []].insert(message.sequence)
        confirmed[author] = max(confirmed[author] ?? 0, message.confirmed)
        guard let group = message.group,
            arrived[author, default: []].isSuperset(of: group),
            finished[author, default: []].isDisjoint(with: group)
        else { return }
        results.append(.applied(author, group))
        finished[author, default: []].formUnion(group)
        guard let replaced = message.replaces else { return }
        seen[author, default: [0]].formUnion(replaced)
        finished[author, default: []].formUnion(replaced)
    }
}
