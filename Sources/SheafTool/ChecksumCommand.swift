import Sheaf
import SheafBytes
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTransfer

extension Command {
    /// The command `sheaf checksum`.
    static let checksum = Command(
        name: "checksum", summary: "print checksums of the documents of a store",
        operands: ["PATH"],
        options: [
            Option(name: "full", summary: "add a checksum of the states, with types and deletions"),
            .json,
        ],
        details: """
            Prints a line for each collection that has documents, and one for all of them. The
            checksum depends on the ids and fields of the documents alone: two stores with the same
            documents print the same text, whatever their history.

            --full adds a checksum of all states: types such as counters, the writes that a
            document has seen, and deletions. It is equal for peers that have nothing to send to
            each other, and for a store and a 'sheaf import --full' of its 'sheaf export --full'.

            JSON keys: collection (null in the last line), documents, contents; with --full also
            tombstones and states.
            """,
        run: ChecksumCommand.run)
}

/// The implementation of `sheaf checksum`.
enum ChecksumCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let isFull = arguments.has("full")
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        let checksum: StoreChecksum
        do throws(StoreError) {
            let snapshot = try QueryEngine(reading: reader).snapshot()
            do throws(EngineError) {
                checksum = try StoreChecksum(of: snapshot, withStates: isFull)
            } catch {
                throw StoreError(error)
            }
        } catch {
            throw .statement(error, at: path)
        }
        for (name, part) in checksum.collections {
            // Collections with tombstones alone have no documents.
            guard isFull || part.documentCount > 0 else { continue }
            output.write(
                arguments.has("json") ? json(name, part, isFull) : line(name, part, isFull))
        }
        output.write(
            arguments.has("json")
                ? json(nil, checksum.total, isFull) : line(nil, checksum.total, isFull))
        return .ok
    }

    private static func line(
        _ name: String?, _ part: StoreChecksum.Part, _ isFull: Bool
    ) -> String {
        var words = [
            "\(part.contents)", Quantity.count(part.documentCount, "document"),
        ]
        if isFull {
            words.insert("\(part.states)", at: 0)
            words.append(Quantity.count(part.tombstoneCount, "tombstone"))
        }
        words.append(name.map { ReadableBytes.text(Array($0.utf8)) } ?? "in all")
        return words.joined(separator: "  ")
    }

    private static func json(
        _ name: String?, _ part: StoreChecksum.Part, _ isFull: Bool
    ) -> String {
        var line = JSONLine()
        line.add("collection", name)
        line.add("documents", part.documentCount)
        line.add("contents", part.contents.description)
        if isFull {
            line.add("tombstones", part.tombstoneCount)
            line.add("states", part.states.description)
        }
        return line.closed
    }
}
