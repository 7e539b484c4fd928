import SheafDocument

/// An assignment of UPDATE whose value is a literal or an argument.
struct EditDraft: Sendable {
    private enum Kind {
        case set, unset, increment, restart, incrementOlder
    }

    private let kind: Kind
    private let path: [String]
    private let operand: Operand

    /// Returns drafts of all assignments; nil if a value must be computed or an assignment is
    /// invalid.
    static func drafts(of update: Update, in text: String) -> [EditDraft]? {
        let checker = AssignmentChecker(
            text: text, source: Scope.name(of: update.source), types: FieldTypes(isStrict: false))
        var drafts: [EditDraft] = []
        for assignment in update.assignments {
            guard let path = try? checker.path(of: assignment),
                let draft = EditDraft(assignment, path)
            else { return nil }
            drafts.append(draft)
        }
        return drafts
    }

    private init?(_ assignment: Assignment, _ path: [String]) {
        let kind: Kind
        var operand: Operand? = .literal(.integer(0))
        switch assignment {
        case .set(_, let expression): (kind, operand) = (.set, Operand(expression))
        case .unset: kind = .unset
        case .increment(_, let expression): (kind, operand) = (.increment, Operand(expression))
        case .restart(_, let expression):
            kind = .restart
            if let expression { operand = Operand(expression) }
        case .incrementOlder(_, let expression):
            (kind, operand) = (.incrementOlder, Operand(expression))
        }
        guard let operand else { return nil }
        self.kind = kind
        self.path = path
        self.operand = operand
    }

    /// Returns the edit; nil if the argument is missing or not a number where one is required.
    func edit(_ arguments: ArgumentValues) -> Edit? {
        guard let value = operand.value(arguments) else { return nil }
        switch kind {
        case .set: return .set(path: path, to: value)
        case .unset: return .unset(path: path)
        case .increment: return Number(value).map { .increment(path: path, by: $0) }
        case .restart: return Number(value).map { .restart(path: path, with: $0) }
        case .incrementOlder: return Number(value).map { .incrementOlder(path: path, by: $0) }
        }
    }
}
