package checker

import (
	"cmp"
	"slices"
)

// tokens finds grants whose token is not greater than that of a grant before
// them, and tokens that two grants share. Grants without a token are left out.
func (j *judge) tokens(l *lock) {
	var minted []*grant // in the order of their returns
	for _, g := range l.grants {
		if g.token() != 0 {
			minted = append(minted, g)
		}
	}
	byCall := slices.Clone(minted)
	slices.SortFunc(byCall, func(a, b *grant) int { return cmp.Compare(a.called(), b.called()) })
	told := map[pair]bool{}
	var top *grant // greatest token among those that had returned
	i := 0
	for _, g := range byCall {
		for ; i < len(minted) && minted[i].returned() < g.called(); i++ {
			if top == nil || minted[i].token() > top.token() {
				top = minted[i]
			}
		}
		if top != nil && g.token() <= top.token() {
			told[pair{top.index, g.index}] = true
			j.regression(l, top, g)
		}
	}
	j.twins(l, minted, told)
}

// twins finds equal tokens of grants that are not told of yet.
func (j *judge) twins(l *lock, minted []*grant, told map[pair]bool) {
	first := map[int64]*grant{}
	for _, g := range minted {
		twin, ok := first[g.token()]
		if !ok {
			first[g.token()] = g
			continue
		}
		if !told[pair{twin.index, g.index}] {
			j.regression(l, twin, g)
		}
	}
}

func (j *judge) regression(l *lock, g1, g2 *grant) {
	j.add(Finding{
		ID: TokenRegression, Lock: l.name, Grants: ids(g1, g2), Events: seqs(g1.ret(), g2.ret()), At: g2.got(),
		Words: j.tellRegression(g1, g2),
	})
}
