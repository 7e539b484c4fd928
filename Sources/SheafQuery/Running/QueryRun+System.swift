package import SheafDocument
import SheafText

/// A statement about system parameters.
package enum ConfigurationChange {
    case set(String, Value)
    /// A reset of one parameter, or of all of them if nil.
    case reset(String?)
    case show(String)
    /// A list of the parameters whose names match.
    case showAll((String) throws(StoreError) -> Bool)
}

extension QueryRun {
    /// Returns the operation of a statement of the kind `showing` or `configuring`.
    package func configuration() throws(StoreError) -> ConfigurationChange {
        let compiler = environment.compiler()
        switch statement.body {
        case .set(let name, let expression):
            guard let value = try compiler.constant(expression, for: "a parameter") else {
                throw compiler.error(.argument, "a parameter cannot be MISSING", expression)
            }
            return .set(name, value)
        case .reset(let name): return .reset(name)
        case .show(let name): return .show(name)
        case .showAll(let kind, let pattern):
            guard let pattern else { return .showAll { (_) throws(StoreError) in true } }
            guard case .string(let text)? = try compiler.constant(pattern, for: "the pattern")
            else { throw compiler.error(.argument, "the pattern must be a string", pattern) }
            let matcher = try StoreError.ofPatterns { () throws(PatternError) in
                try TextPattern.like(
                    text, escape: nil, isCaseInsensitive: kind == .caseInsensitiveLike)
            }
            return .showAll { (name) throws(StoreError) in
                try StoreError.ofPatterns { () throws(PatternError) in try matcher.matches(name) }
            }
        default: throw StoreError(.meaning, "the statement is not about parameters")
        }
    }
}
