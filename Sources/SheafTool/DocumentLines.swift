import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage

/// The text and JSON forms of document operations.
enum DocumentLines {
    /// Maximum length of a printed document value or list of paths.
    private static let valueLength = 160
    /// Maximum number of documents that `sheaf log` names for a commit.
    private static let namedCount = 3

    /// Returns the description of an operation; further lines list the changed fields.
    static func lines(
        _ meaning: DocumentReading.Meaning, _ logged: LoggedOperation
    ) -> [String] {
        let operation = logged.operation
        let length = Quantity.count(operation.payload.count, "byte")
        let previous = operation.previous == .none ? "" : ", after \(operation.previous)"
        switch meaning {
        case .origin(let origin):
            let time = Timestamp.text(origin.stamp.time.milliseconds)
            return [
                "written by \(origin.stamp.site.text) at \(time), received from "
                    + "\(origin.peer.text) as its commit \(origin.commit)"
            ]
        case .name(let number, let name):
            return ["name \(number)  \(text(.string(name)))"]
        case .collection(let number, let name):
            return ["collection \(number)  \(text(.string(name)))"]
        case .site(let site):
            return ["site  \(site.text)"]
        case .formerSites(let sites):
            return ["former sites  " + sites.map(\.text).joined(separator: "  ")]
        case .clock(let time):
            return ["clock  \(Timestamp.text(time.milliseconds)), counter \(time.counter)"]
        case .pauses(let site, let count):
            guard let count else { return ["drop pauses  \(site.text)"] }
            return ["pauses of another site  \(site.text), \(count)"]
        case .importProgress(let progress):
            guard let progress else { return ["end of an import"] }
            return [
                "import  \(text(.string(progress.source))) into "
                    + "\(text(.string(progress.collection))), "
                    + Quantity.count(Int(clamping: progress.importedCount), "document")
                    + " so far"
            ]
        case .storedShard(let shard, let stored):
            return ["hub log  shard \(shard), entry \(stored.position.entry)"]
        case .index(let collection, let number, let definition):
            let title = "\(text(.string(collection))) \(number)"
            guard let definition else { return ["drop index  \(title)"] }
            let fields = fields(of: definition).joined(separator: ", ")
            return ["index  \(title)  \(text(.string(definition.name)))  \(fields)"]
        case .unprovenToken(let id, let isRemoved):
            return ["\(isRemoved ? "proven" : "unproven") token  \(id)"]
        case .document(let document):
            let title = title(document)
            guard let form = document.form else { return ["evict  \(title)\(previous)"] }
            var lines = ["\(form.rawValue)  \(title)  \(length)\(previous)"]
            if let value = document.value {
                lines.append("    " + truncated(text(Value.object(value))))
            }
            if !document.changed.isEmpty {
                lines.append("    changed  " + truncated(document.changed.joined(separator: "  ")))
            }
            if !document.removed.isEmpty {
                lines.append("    removed  " + truncated(document.removed.joined(separator: "  ")))
            }
            return lines
        }
    }

    /// Adds the fields that describe an operation to a JSON line.
    static func add(_ meaning: DocumentReading.Meaning, to line: inout JSONLine) {
        switch meaning {
        case .origin(let origin):
            line.add("site", origin.stamp.site.text)
            line.add("stamp", origin.stamp.time.rawValue)
            line.add("peer", origin.peer.text)
            line.add("peerCommit", origin.commit)
        case .name(let number, let name):
            line.add("name", name)
            line.add("number", number)
        case .collection(let number, let name):
            line.add("collection", name)
            line.add("number", number)
        case .site(let site):
            line.add("site", site.text)
        case .formerSites(let sites):
            line.add("formerSites", sites.map(\.text))
        case .clock(let time):
            line.add("clock", time.rawValue)
        case .pauses(let site, let count):
            line.add("otherSite", site.text)
            line.add("pauses", count ?? 0)
        case .importProgress(let progress):
            line.add("import", progress?.source)
            line.add("collection", progress?.collection)
            line.add("imported", progress?.importedCount)
        case .storedShard(let shard, let stored):
            line.add("shard", shard)
            line.add("entry", stored.position.entry)
        case .index(let collection, let number, let definition):
            line.add("collection", collection)
            line.add("number", number)
            line.add("index", definition?.name)
            line.add("fields", definition.map { fields(of: $0) } ?? [])
        case .unprovenToken(let id, let isRemoved):
            line.add("attachment", id.description)
            line.add("proven", isRemoved)
        case .document(let document):
            line.add("collection", document.collection)
            line.add("id", raw: document.id.json)
            line.add("form", document.form?.rawValue ?? "evict")
            line.add("value", raw: document.value.map { Value.object($0).json } ?? "null")
            line.add("changed", document.changed)
            line.add("removed", document.removed)
        }
    }

    /// Returns the paths of an index with their sort directions.
    static func fields(of definition: IndexDefinition) -> [String] {
        definition.fields.map { DocumentReading.text($0.path) + ($0.isDescending ? " DESC" : "") }
    }

    /// Returns the first documents of a commit and the number of the remaining ones.
    static func summary(_ operations: [LoggedOperation], _ reading: DocumentReading) -> String {
        var titles: [String] = []
        var count = 0
        for logged in operations {
            guard case .document = StoreKey(logged.operation.key) else { continue }
            count += 1
            guard titles.count < namedCount,
                case .document(let document) = reading.meaning(of: logged.operation)
            else { continue }
            titles.append(title(document))
        }
        guard !titles.isEmpty else { return "" }
        let rest = count > titles.count ? ", \(count - titles.count) more" : ""
        return "  " + titles.joined(separator: ", ") + rest
    }

    /// Returns the collection, with unprintable bytes escaped, and the id.
    private static func title(_ document: DocumentReading.DocumentMeaning) -> String {
        ReadableBytes.text(Array(document.collection.utf8)) + " " + text(document.id)
    }

    /// Returns a value as JSON with control characters escaped.
    static func text(_ value: Value) -> String { TerminalText.visible(value.json) }

    private static func truncated(_ text: String) -> String {
        text.utf8.count > valueLength ? text.prefix(valueLength) + "..." : text
    }
}
