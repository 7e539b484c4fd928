import SheafDocument
import SheafQuery
import SheafTestSupport

extension RandomTree {
    mutating func statement() -> Statement {
        Statement(
            text: "", body: body(), directives: list(0...1) { $0.directive() }, parameters: [])
    }

    private mutating func directive() -> Object {
        Object(list(0...2) { ($0.word(), $0.value()) })
    }

    private mutating func body() -> Statement.Body {
        switch random.below(16) {
        case 0: .createIndex(index())
        case 1: .dropIndex(DropIndex(name(), on: collection(), allowsMissing: coin()))
        case 2: .explain(documentBody())
        case 3: .profile(documentBody())
        case 4: .advise(documentBody(), isProvisioning: coin())
        case 5: .set(parameter: "a", expression(1))
        case 6: .reset(parameter: maybe { $0.pick(["all", "x_y"]) })
        case 7: .show(parameter: pick(["all", "x_y"]))
        case 8:
            coin()
                ? .showAll(nil, pattern: nil)
                : .showAll(pick([.like, .caseInsensitiveLike]), pattern: expression(2))
        default: documentBody()
        }
    }

    private mutating func documentBody() -> Statement.Body {
        switch random.below(8) {
        case 0, 1: .insert(insert())
        case 2: .update(update())
        case 3:
            .delete(
                Delete(
                    from: source(uses: true), isEviction: coin(),
                    condition: maybe { $0.expression(2) }, ordering: ordering(),
                    returning: list(0...2) { $0.column() }))
        default: .select(select())
        }
    }

    private mutating func index() -> CreateIndex {
        CreateIndex(
            name(), on: collection(),
            list(1...3) { CreateIndex.Field($0.path(), isDescending: $0.coin()) },
            allowsExisting: coin())
    }

    // MARK: Reading

    private mutating func select() -> Select {
        var select = Select(
            columns: list(1...3) { $0.column() }, source: source(hasAlias: true, uses: true))
        select.isDistinct = coin()
        select.joins = list(0...2) {
            JoinClause(
                $0.pick([.inner, .left, .right]), $0.source(hasAlias: true, uses: true, ids: false),
                on: $0.expression(1))
        }
        select.condition = maybe { $0.expression(3) }
        select.groups = list(0...2) { $0.expression(1) }
        select.having = maybe { $0.expression(2) }
        select.ordering = ordering()
        return select
    }

    private mutating func column() -> ResultColumn {
        random.chance(1, in: 4)
            ? .all(qualifier: maybe { $0.name() }, at: SourceRange(0, 0))
            : .expression(expression(2), alias: maybe { $0.name() })
    }

    private mutating func ordering() -> Ordering {
        Ordering(
            terms: list(0...2) { OrderTerm($0.expression(1), isDescending: $0.coin()) },
            limit: maybe { $0.expression(1) }, offset: maybe { $0.expression(1) })
    }

    private mutating func collection() -> Name {
        Name(pick(["", "system:"]) + word(), at: SourceRange(0, 0))
    }

    private mutating func types(_ depth: Int) -> [FieldType] {
        list(1...2) {
            FieldType(
                $0.name(),
                $0.pick([
                    .register, .counter, .olderCounter, .attachment,
                    .map(depth == 0 || $0.coin() ? [] : $0.types(depth - 1)),
                ]))
        }
    }

    private mutating func source(
        hasAlias: Bool = false, uses: Bool = false, ids: Bool = true, typed: Bool = false
    ) -> Source {
        let types = maybe { $0.types(2) } ?? []
        var chosen: IDSelection?
        if uses, ids {
            chosen = maybe {
                $0.coin()
                    ? .expression($0.expression(1)) : .list($0.list(1...2) { $0.expression(1) })
            }
        }
        return Source(
            collection(), hasCollectionKeyword: typed && !types.isEmpty || coin(), types: types,
            alias: hasAlias ? maybe { $0.name() } : nil, ids: chosen,
            index: uses ? maybe { $0.name() } : nil, directives: list(0...1) { $0.directive() })
    }

    // MARK: Writing

    private mutating func insert() -> Insert {
        let isInitial = random.chance(1, in: 3)
        let documents: Insert.Documents =
            isInitial || coin()
            ? .expressions(list(1...3) { $0.expression(2) }) : .select(select())
        return Insert(
            into: source(), documents, isInitial: isInitial,
            onConflict: isInitial
                ? .doNothing : pick([.fail, .doNothing, .merge, .mergeDifferences]),
            returning: isInitial ? [] : list(0...2) { $0.column() })
    }

    private mutating func update() -> Update {
        let applied = list(0...2) { tree -> Assignment in
            switch tree.random.below(3) {
            case 0: .increment(tree.path(), by: tree.expression(1))
            case 1: .incrementOlder(tree.path(), by: tree.expression(1))
            default: .restart(tree.path(), with: tree.maybe { $0.expression(1) })
            }
        }
        let rest = list(1...4) { tree -> Assignment in
            switch tree.random.below(4) {
            case 0: .unset(tree.path())
            case 1: .increment(Path(["c"], at: SourceRange(0, 0)), by: tree.expression(1))
            default: .set(tree.path(), tree.expression(2))
            }
        }
        return Update(
            source(uses: true, typed: true), applied + rest,
            condition: maybe { $0.expression(2) }, returning: list(0...2) { $0.column() })
    }
}
