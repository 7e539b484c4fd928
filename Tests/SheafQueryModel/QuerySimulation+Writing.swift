import SheafDocument
import SheafDocumentModel
import SheafQuery
import SheafStatements
import SheafStore

/// Statements that write, in the store and in the model.
extension QuerySimulation {
    /// The expected effect of a statement.
    private struct Effect {
        var ids: Set<Value> = []
        var returned: NaiveRows?
    }

    func compareWrite(
        _ body: Statement.Body, _ arguments: [String: Value], _ context: String
    ) throws -> ComparisonOutcome {
        let text = Statement(text: "", body: body, directives: [], parameters: []).description
        let parsed = try Parser.parse(text).body
        let before = kept()
        var outcome: ResultStorage?
        var failure: StoreError?
        do throws(StoreError) { outcome = try execute(text, arguments) } catch { failure = error }
        if failure?.takesTooLong == true { return .refused }
        func difference(_ problem: String) -> QueryDifference {
            QueryDifference(problem, text, arguments, context + ", " + indexText())
        }
        let effect: Effect
        do {
            effect = try self.effect(of: parsed, arguments, outcome?.mutatedIDs ?? [])
        } catch let error as StoreError {
            restore(before)
            guard failure != nil else { throw difference("it should fail: \(error)") }
            return .failed
        } catch let error as ModelMismatch {
            if let failure { throw difference("it fails: \(failure)") }
            throw difference(error.text)
        }
        guard let outcome else {
            throw difference("it fails: \(failure.map { "\($0)" } ?? "")")
        }
        guard Set(outcome.mutatedIDs) == effect.ids, outcome.mutatedIDs.count == effect.ids.count
        else {
            throw difference(
                "it changes \(Value.array(outcome.mutatedIDs).json) instead of "
                    + Value.array(effect.ids.sorted()).json)
        }
        if let expected = effect.returned {
            let rows = try outcome.items.map { try $0.object(outcome.names) }
            if let problem = RowComparison.difference(rows, expected) {
                throw difference("RETURNING: " + problem)
            }
        }
        return .same
    }

    private struct ModelMismatch: Error {
        let text: String
    }

    private func effect(
        of body: Statement.Body, _ arguments: [String: Value], _ found: [Value]
    ) throws -> Effect {
        switch body {
        case .insert(let insert): return try effect(of: insert, arguments)
        case .update(let update): return try effect(of: update, arguments)
        case .delete(let delete): return try effect(of: delete, arguments, found)
        default: return Effect()
        }
    }

    private func returned(
        _ columns: [ResultColumn], _ source: Source, _ objects: [Object],
        _ arguments: [String: Value]
    ) throws(StoreError) -> NaiveRows? {
        guard !columns.isEmpty else { return nil }
        return try NaiveSelect.returning(columns, source, objects, arguments, context)
    }

    // MARK: INSERT

    private func effect(
        of insert: Insert, _ arguments: [String: Value]
    ) throws(StoreError) -> Effect {
        guard case .expressions(let expressions) = insert.documents else { return Effect() }
        let collection = insert.source.name.text
        let evaluator = NaiveEvaluator([], arguments, context)
        var effect = Effect()
        var seen: Set<Value> = []
        for expression in expressions {
            guard case .object(var object)? = try evaluator.value(expression),
                let id = object["_id"], seen.insert(id).inserted
            else { throw StoreError(.conflict, "two documents have the same id") }
            object["_id"] = nil
            let isPresent = documents[collection]?[id] != nil
            if isPresent, insert.conflict == .fail {
                throw StoreError(.conflict, "the document exists already")
            }
            let isDifference = insert.conflict == .mergeDifferences
            if !insert.isInitial, isDifference || insert.conflict == .merge {
                try refuseHiding(collection, id) {
                    $0.hidesCounter(object, differencesOnly: isDifference)
                }
            }
            let isChanged = change(collection, id) { (model, stamp) in
                var changed = model ?? ModelDocument()
                if insert.isInitial {
                    changed.insertInitial(object)
                } else if insert.conflict == .mergeDifferences {
                    changed.insertDifferences(object, stamp: stamp)
                } else if insert.conflict != .doNothing || !isPresent {
                    changed.insert(object, stamp: stamp)
                }
                if changed != ModelDocument() { model = changed }
            }
            if isChanged { effect.ids.insert(id) }
        }
        effect.returned = try returned(
            insert.returning, insert.source,
            effect.ids.compactMap { documents[collection]?[$0] }, arguments)
        return effect
    }

    // MARK: UPDATE

    private func effect(
        of update: Update, _ arguments: [String: Value]
    ) throws(StoreError) -> Effect {
        let collection = update.source.name.text
        var evaluator = NaiveEvaluator([update.source], arguments, context)
        var effect = Effect()
        for (id, document) in documents[collection] ?? [:] {
            evaluator.rows = [document]
            if let condition = update.condition, try evaluator.truth(condition) != .yes { continue }
            var edits: [Edit] = []
            for assignment in update.assignments {
                switch assignment {
                case .set(let path, let expression):
                    guard let value = try evaluator.value(expression) else { continue }
                    edits.append(.set(path: path.names, to: value))
                case .unset(let path): edits.append(.unset(path: path.names))
                case .increment(let path, let expression):
                    guard let number = try evaluator.value(expression).flatMap(Number.init) else {
                        throw StoreError(.argument, "not a number")
                    }
                    edits.append(.increment(path: path.names, by: number))
                case .restart, .incrementOlder: break
                }
            }
            edits = Self.withoutReplacedValues(edits)
            try refuseHiding(collection, id) { $0.hidesCounter(edits) }
            let isChanged = change(collection, id) { (model, stamp) in
                model?.apply(edits, stamp: stamp)
            }
            if isChanged { effect.ids.insert(id) }
        }
        effect.returned = try returned(
            update.returning, update.source,
            effect.ids.compactMap { documents[collection]?[$0] }, arguments)
        return effect
    }

    /// Removes values that a later assignment of the same statement replaces.
    private static func withoutReplacedValues(_ edits: [Edit]) -> [Edit] {
        var kept: [Edit] = []
        // The order is reversed, so that all later paths are known.
        var (set, counted): ([[String]], [[String]]) = ([], [])
        for edit in edits.reversed() {
            switch edit {
            case .set(let path, let value, let mode):
                if let rest = remaining(value, path, set, counted) {
                    kept.append(.set(path: path, to: rest, as: mode))
                }
                set += paths(of: value, at: path)
                continue
            case .increment(let path, _), .restart(let path, _), .incrementOlder(let path, _):
                counted.append(path)
            case .unset: break
            }
            kept.append(edit)
        }
        return kept.reversed()
    }

    /// Returns the remaining part of a value, or nil if it is replaced.
    private static func remaining(
        _ value: Value, _ path: [String], _ set: [[String]], _ counted: [[String]]
    ) -> Value? {
        if counted.contains(path) { return nil }
        if case .object(let object) = value, !object.isAttachmentToken {
            var rest = Object()
            for field in object {
                rest[field.name] = remaining(field.value, path + [field.name], set, counted)
            }
            return .object(rest)
        }
        let isBelow = (set + counted).contains { $0.count > path.count && $0.starts(with: path) }
        return isBelow || set.contains(path) ? nil : value
    }

    /// Returns the paths of a value and of all fields in it.
    private static func paths(of value: Value, at path: [String]) -> [[String]] {
        guard case .object(let object) = value, !object.isAttachmentToken else { return [path] }
        return [path] + object.flatMap { paths(of: $0.value, at: path + [$0.name]) }
    }

    /// Throws if a write would hide a counter of a document.
    private func refuseHiding(
        _ collection: String, _ id: Value, _ hides: (ModelDocument) -> Bool
    ) throws(StoreError) {
        guard let model = models[DocumentName(collection: collection, id: id)], hides(model) else {
            return
        }
        throw StoreError(.meaning, "a counter would be hidden")
    }

    // MARK: DELETE

    private func effect(
        of delete: Delete, _ arguments: [String: Value], _ found: [Value]
    ) throws -> Effect {
        let collection = delete.source.name.text
        let id = Expression(.path(["_id"]), at: delete.source.name.range)
        var select = Select(columns: [.expression(id, alias: nil)], source: delete.source)
        select.condition = delete.condition
        select.ordering = delete.ordering
        let expected = try naive(select, arguments)
        // Among documents with equal sort keys, any may be deleted.
        if let problem = RowComparison.difference(found.map { ["_id": $0] }, expected) {
            throw ModelMismatch(text: problem)
        }
        var effect = Effect()
        effect.ids = Set(found)
        effect.returned = try returned(
            delete.returning, delete.source, found.compactMap { documents[collection]?[$0] },
            arguments)
        for id in found {
            _ = change(collection, id) { (model, stamp) in
                if delete.isEviction { model = nil } else { model?.delete(stamp: stamp) }
            }
        }
        return effect
    }
}
