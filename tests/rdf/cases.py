"""For every rule of the W3C's tables a case where it fires, and a similar one where it must not.

`then` needs every triple of `given`: tests delete them one by one. `but` is similar, and does not
imply `then`. `!` marks an inconsistency, followed by the terms that cause it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    given: str
    then: str
    but: str
    spare: str = ""  # triples of `given` that the rule does not need


OWL2RL = {
    # Table 4
    "eq-ref": Case("x p y.", "x owl:sameAs x.", "z p y."),
    "eq-sym": Case("x owl:sameAs y.", "y owl:sameAs x.", "x owl:differentFrom y."),
    "eq-trans": Case(
        "x owl:sameAs y. y owl:sameAs z.", "x owl:sameAs z.", "x owl:sameAs y. w owl:sameAs z."
    ),
    "eq-rep-s": Case("s owl:sameAs t. s p o.", "t p o.", "s owl:sameAs u. s p o."),
    "eq-rep-p": Case("p owl:sameAs q. s p o.", "s q o.", "p owl:sameAs q. s r o."),
    "eq-rep-o": Case("o owl:sameAs u. s p o.", "s p u.", "o owl:sameAs u. s p t."),
    "eq-diff1": Case(
        "x owl:sameAs y. x owl:differentFrom y.", "! x y", "x owl:sameAs y. x owl:differentFrom z."
    ),
    "eq-diff2": Case(
        "x rdf:type owl:AllDifferent. x owl:members (a b c). a owl:sameAs c.",
        "! x a c",
        "x rdf:type owl:AllDifferent. x owl:members (a b c). a owl:sameAs d.",
        spare="_:cell3 rdf:rest rdf:nil. _:cell2 rdf:first b.",
    ),
    "eq-diff3": Case(
        "x rdf:type owl:AllDifferent. x owl:distinctMembers (a b). a owl:sameAs b.",
        "! x a b",
        "x rdf:type owl:AllDisjointClasses. x owl:distinctMembers (a b). a owl:sameAs b.",
        spare="_:cell2 rdf:rest rdf:nil.",
    ),
    # Table 5
    "prp-ap": Case("", "rdfs:label rdf:type owl:AnnotationProperty.", ""),
    "prp-dom": Case("p rdfs:domain c. x p y.", "x rdf:type c.", "p rdfs:domain c. x q y. y p x."),
    "prp-rng": Case("p rdfs:range c. x p y.", "y rdf:type c.", "p rdfs:range c. y p x. x q y."),
    "prp-fp": Case(
        "p rdf:type owl:FunctionalProperty. x p y. x p z.",
        "y owl:sameAs z.",
        "p rdf:type owl:FunctionalProperty. x p y. w p z.",
    ),
    "prp-ifp": Case(
        "p rdf:type owl:InverseFunctionalProperty. x p y. z p y.",
        "x owl:sameAs z.",
        "p rdf:type owl:InverseFunctionalProperty. x p y. z p w.",
    ),
    "prp-irp": Case(
        "p rdf:type owl:IrreflexiveProperty. x p x.",
        "! p x",
        "p rdf:type owl:IrreflexiveProperty. x p y. x q x.",
    ),
    "prp-symp": Case(
        "p rdf:type owl:SymmetricProperty. x p y.",
        "y p x.",
        "q rdf:type owl:SymmetricProperty. x p y.",
    ),
    "prp-asyp": Case(
        "p rdf:type owl:AsymmetricProperty. x p y. y p x.",
        "! p x y",
        "p rdf:type owl:AsymmetricProperty. x p y. y q x.",
    ),
    "prp-trp": Case(
        "p rdf:type owl:TransitiveProperty. x p y. y p z.",
        "x p z.",
        "p rdf:type owl:TransitiveProperty. x p y. y q z. z p y.",
    ),
    "prp-spo1": Case("p rdfs:subPropertyOf q. x p y.", "x q y.", "q rdfs:subPropertyOf p. x p y."),
    "prp-spo2": Case(
        "p owl:propertyChainAxiom (q r s). a q b. b r c. c s d.",
        "a p d.",
        "p owl:propertyChainAxiom (q r s). a q b. b s c. c r d.",
    ),
    "prp-eqp1": Case("p owl:equivalentProperty q. x p y.", "x q y.", "p owl:sameAs r. x p y."),
    "prp-eqp2": Case("p owl:equivalentProperty q. x q y.", "x p y.", "q owl:sameAs r. x q y."),
    "prp-pdw": Case(
        "p owl:propertyDisjointWith q. x p y. x q y.",
        "! p q x",
        "p owl:propertyDisjointWith q. x p y. x q z. y q x.",
    ),
    "prp-adp": Case(
        "z rdf:type owl:AllDisjointProperties. z owl:members (p q r). x p y. x r y.",
        "! p r x",
        "z rdf:type owl:AllDisjointProperties. z owl:members (p q r). x p y. x s y.",
        spare="_:cell2 rdf:first q. _:cell3 rdf:rest rdf:nil.",
    ),
    "prp-inv1": Case("p owl:inverseOf q. x p y.", "y q x.", "p owl:inverseOf r. x p y."),
    "prp-inv2": Case("p owl:inverseOf q. x q y.", "y p x.", "p owl:inverseOf r. x q y."),
    "prp-key": Case(
        "c owl:hasKey (p q). x rdf:type c. y rdf:type c. x p a. y p a. x q b. y q b.",
        "x owl:sameAs y.",
        "c owl:hasKey (p q). x rdf:type c. y rdf:type c. x p a. y p a. x q b. y q d.",
    ),
    "prp-npa1": Case(
        "x owl:sourceIndividual a. x owl:assertionProperty p. x owl:targetIndividual b. a p b.",
        "! x a b",
        "x owl:sourceIndividual a. x owl:assertionProperty p. x owl:targetIndividual b. b p a.",
    ),
    "prp-npa2": Case(
        'x owl:sourceIndividual a. x owl:assertionProperty p. x owl:targetValue "v". a p "v".',
        '! x a "v"',
        'x owl:sourceIndividual a. x owl:assertionProperty p. x owl:targetValue "v". a p "w".',
    ),
    # Table 6
    "cls-thing": Case("", "owl:Thing rdf:type owl:Class.", ""),
    "cls-nothing1": Case("", "owl:Nothing rdf:type owl:Class.", ""),
    "cls-nothing2": Case("x rdf:type owl:Nothing.", "! x", "x rdf:type owl:Thing."),
    "cls-int1": Case(
        "c owl:intersectionOf (d e f). y rdf:type d. y rdf:type e. y rdf:type f.",
        "y rdf:type c.",
        "c owl:intersectionOf (d e f). y rdf:type d. y rdf:type e. z rdf:type f.",
    ),
    "cls-int2": Case(
        "c owl:intersectionOf (d e). y rdf:type c.",
        "y rdf:type e.",
        "c owl:unionOf (d e). y rdf:type c.",
        spare="_:cell1 rdf:first d. _:cell2 rdf:rest rdf:nil.",
    ),
    "cls-uni": Case(
        "c owl:unionOf (d e). y rdf:type e.",
        "y rdf:type c.",
        "c owl:unionOf (d e). y rdf:type f.",
        spare="_:cell1 rdf:first d. _:cell2 rdf:rest rdf:nil.",
    ),
    "cls-com": Case(
        "c owl:complementOf d. x rdf:type c. x rdf:type d.",
        "! c d x",
        "c owl:complementOf d. x rdf:type c. y rdf:type d.",
    ),
    "cls-svf1": Case(
        "c owl:someValuesFrom d. c owl:onProperty p. u p v. v rdf:type d.",
        "u rdf:type c.",
        "c owl:someValuesFrom d. c owl:onProperty p. u p v. w rdf:type d.",
    ),
    "cls-svf2": Case(
        "c owl:someValuesFrom owl:Thing. c owl:onProperty p. u p v.",
        "u rdf:type c.",
        "c owl:someValuesFrom d. c owl:onProperty p. u p v.",
    ),
    "cls-avf": Case(
        "c owl:allValuesFrom d. c owl:onProperty p. u rdf:type c. u p v.",
        "v rdf:type d.",
        "c owl:allValuesFrom d. c owl:onProperty p. u rdf:type c. u q v. w p v.",
    ),
    "cls-hv1": Case(
        "c owl:hasValue v. c owl:onProperty p. u rdf:type c.",
        "u p v.",
        "c owl:hasValue v. c owl:onProperty p. v rdf:type c.",
    ),
    "cls-hv2": Case(
        "c owl:hasValue v. c owl:onProperty p. u p v.",
        "u rdf:type c.",
        "c owl:hasValue v. c owl:onProperty p. u p w.",
    ),
    "cls-maxc1": Case(
        'c owl:maxCardinality "0"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "u rdf:type c. u p y.",
        "! c u y",
        'c owl:maxCardinality "1"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "u rdf:type c. u p y.",
    ),
    "cls-maxc2": Case(
        'c owl:maxCardinality "1"^^xsd:nonNegativeInteger. c owl:onProperty p. u rdf:type c. '
        "u p y. u p z.",
        "y owl:sameAs z.",
        'c owl:maxCardinality "2"^^xsd:nonNegativeInteger. c owl:onProperty p. u rdf:type c. '
        "u p y. u p z.",
    ),
    "cls-maxqc1": Case(
        'c owl:maxQualifiedCardinality "0"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "c owl:onClass d. u rdf:type c. u p y. y rdf:type d.",
        "! c u y",
        'c owl:maxQualifiedCardinality "0"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "c owl:onClass d. u rdf:type c. u p y. y rdf:type e.",
    ),
    "cls-maxqc2": Case(
        'c owl:maxQualifiedCardinality "0"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "c owl:onClass owl:Thing. u rdf:type c. u p y.",
        "! c u y",
        'c owl:maxQualifiedCardinality "0"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "c owl:onClass d. u rdf:type c. u p y.",
    ),
    "cls-maxqc3": Case(
        'c owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "c owl:onClass d. u rdf:type c. u p y. y rdf:type d. u p z. z rdf:type d.",
        "y owl:sameAs z.",
        'c owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "c owl:onClass d. u rdf:type c. u p y. y rdf:type d. u p z. z rdf:type e.",
    ),
    "cls-maxqc4": Case(
        'c owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "c owl:onClass owl:Thing. u rdf:type c. u p y. u p z.",
        "y owl:sameAs z.",
        'c owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger. c owl:onProperty p. '
        "c owl:onClass owl:Thing. u rdf:type c. u p y. v p z.",
    ),
    "cls-oo": Case(
        "c owl:oneOf (x y).",
        "y rdf:type c.",
        "c owl:oneOf (x z).",
        spare="_:cell1 rdf:first x. _:cell2 rdf:rest rdf:nil.",
    ),
    # Table 7
    "cax-sco": Case(
        "c rdfs:subClassOf d. x rdf:type c.", "x rdf:type d.", "d rdfs:subClassOf c. x rdf:type c."
    ),
    "cax-eqc1": Case(
        "c owl:equivalentClass d. x rdf:type c.", "x rdf:type d.", "c owl:sameAs e. x rdf:type c."
    ),
    "cax-eqc2": Case(
        "c owl:equivalentClass d. x rdf:type d.", "x rdf:type c.", "d owl:sameAs e. x rdf:type d."
    ),
    "cax-dw": Case(
        "c owl:disjointWith d. x rdf:type c. x rdf:type d.",
        "! c d x",
        "c owl:disjointWith d. x rdf:type c. y rdf:type d.",
    ),
    "cax-adc": Case(
        "z rdf:type owl:AllDisjointClasses. z owl:members (c d e). x rdf:type c. x rdf:type e.",
        "! c e x",
        "z rdf:type owl:AllDisjointClasses. z owl:members (c d e). x rdf:type c. x rdf:type f.",
        spare="_:cell2 rdf:first d. _:cell3 rdf:rest rdf:nil.",
    ),
    # Table 8
    "dt-type1": Case("", "xsd:integer rdf:type rdfs:Datatype.", ""),
    "dt-type2": Case(
        'x p "5"^^xsd:integer.',
        '"5"^^xsd:integer rdf:type xsd:byte.',
        'x p "500"^^xsd:integer.',
    ),
    "dt-eq": Case(
        'x p "1"^^xsd:integer. x q "1.0"^^xsd:decimal.',
        '"1"^^xsd:integer owl:sameAs "1.0"^^xsd:decimal.',
        'x p "1"^^xsd:integer. x q "1.0"^^xsd:double.',
    ),
    "dt-diff": Case(
        'p rdf:type owl:FunctionalProperty. x p "1"^^xsd:integer. x p "2"^^xsd:integer.',
        '! "1"^^xsd:integer "2"^^xsd:integer',
        'p rdf:type owl:FunctionalProperty. x p "1"^^xsd:integer. x p "01"^^xsd:integer.',
    ),
    "dt-not-type": Case(
        'x p "five"^^xsd:integer.', '! "five"^^xsd:integer xsd:integer', 'x p "5"^^xsd:integer.'
    ),
    # Table 9
    "scm-cls": Case("c rdf:type owl:Class.", "c rdfs:subClassOf owl:Thing.", "x rdf:type c."),
    "scm-sco": Case(
        "c rdfs:subClassOf d. d rdfs:subClassOf e.",
        "c rdfs:subClassOf e.",
        "c rdfs:subClassOf d. e rdfs:subClassOf d.",
    ),
    "scm-eqc1": Case("c owl:equivalentClass d.", "d rdfs:subClassOf c.", "c rdfs:subClassOf d."),
    "scm-eqc2": Case(
        "c rdfs:subClassOf d. d rdfs:subClassOf c.",
        "c owl:equivalentClass d.",
        "c rdfs:subClassOf d. d rdfs:subClassOf e.",
    ),
    "scm-op": Case(
        "p rdf:type owl:ObjectProperty.", "p rdfs:subPropertyOf p.", "p rdf:type owl:Class."
    ),
    "scm-dp": Case(
        "p rdf:type owl:DatatypeProperty.",
        "p owl:equivalentProperty p.",
        "p rdf:type owl:AnnotationProperty.",
    ),
    "scm-spo": Case(
        "p rdfs:subPropertyOf q. q rdfs:subPropertyOf r.",
        "p rdfs:subPropertyOf r.",
        "p rdfs:subPropertyOf q. r rdfs:subPropertyOf q.",
    ),
    "scm-eqp1": Case(
        "p owl:equivalentProperty q.", "q rdfs:subPropertyOf p.", "p rdfs:subPropertyOf q."
    ),
    "scm-eqp2": Case(
        "p rdfs:subPropertyOf q. q rdfs:subPropertyOf p.",
        "p owl:equivalentProperty q.",
        "p rdfs:subPropertyOf q. q rdfs:subPropertyOf r.",
    ),
    "scm-dom1": Case(
        "p rdfs:domain c. c rdfs:subClassOf d.",
        "p rdfs:domain d.",
        "p rdfs:range c. c rdfs:subClassOf d.",
    ),
    "scm-dom2": Case(
        "q rdfs:domain c. p rdfs:subPropertyOf q.",
        "p rdfs:domain c.",
        "q rdfs:domain c. q rdfs:subPropertyOf p.",
    ),
    "scm-rng1": Case(
        "p rdfs:range c. c rdfs:subClassOf d.",
        "p rdfs:range d.",
        "p rdfs:domain c. c rdfs:subClassOf d.",
    ),
    "scm-rng2": Case(
        "q rdfs:range c. p rdfs:subPropertyOf q.",
        "p rdfs:range c.",
        "q rdfs:range c. q rdfs:subPropertyOf p.",
    ),
    "scm-hv": Case(
        "c owl:hasValue v. c owl:onProperty p. d owl:hasValue v. d owl:onProperty q. "
        "p rdfs:subPropertyOf q.",
        "c rdfs:subClassOf d.",
        "c owl:hasValue v. c owl:onProperty p. d owl:hasValue w. d owl:onProperty q. "
        "p rdfs:subPropertyOf q.",
    ),
    "scm-svf1": Case(
        "c owl:someValuesFrom y. c owl:onProperty p. d owl:someValuesFrom z. d owl:onProperty p. "
        "y rdfs:subClassOf z.",
        "c rdfs:subClassOf d.",
        "c owl:someValuesFrom y. c owl:onProperty p. d owl:someValuesFrom z. d owl:onProperty q. "
        "y rdfs:subClassOf z.",
    ),
    "scm-svf2": Case(
        "c owl:someValuesFrom y. c owl:onProperty p. d owl:someValuesFrom y. d owl:onProperty q. "
        "p rdfs:subPropertyOf q.",
        "c rdfs:subClassOf d.",
        "c owl:someValuesFrom y. c owl:onProperty p. d owl:someValuesFrom y. d owl:onProperty q. "
        "q rdfs:subPropertyOf p.",
    ),
    "scm-avf1": Case(
        "c owl:allValuesFrom y. c owl:onProperty p. d owl:allValuesFrom z. d owl:onProperty p. "
        "y rdfs:subClassOf z.",
        "c rdfs:subClassOf d.",
        "c owl:allValuesFrom y. c owl:onProperty p. d owl:allValuesFrom z. d owl:onProperty q. "
        "y rdfs:subClassOf z.",
    ),
    "scm-avf2": Case(
        "c owl:allValuesFrom y. c owl:onProperty p. d owl:allValuesFrom y. d owl:onProperty q. "
        "p rdfs:subPropertyOf q.",
        "d rdfs:subClassOf c.",
        "c owl:allValuesFrom y. c owl:onProperty p. d owl:allValuesFrom y. d owl:onProperty q. "
        "q rdfs:subPropertyOf p.",
    ),
    "scm-int": Case(
        "c owl:intersectionOf (d e).",
        "c rdfs:subClassOf d.",
        "c owl:unionOf (d e).",
        spare="_:cell1 rdf:rest _:cell2. _:cell2 rdf:first e. _:cell2 rdf:rest rdf:nil.",
    ),
    "scm-uni": Case(
        "c owl:unionOf (d e).",
        "d rdfs:subClassOf c.",
        "c owl:intersectionOf (d e).",
        spare="_:cell1 rdf:rest _:cell2. _:cell2 rdf:first e. _:cell2 rdf:rest rdf:nil.",
    ),
}

RDFS = {
    "rdfD1": Case(
        'x p "5"^^xsd:integer.', '"5"^^xsd:integer rdf:type xsd:integer.', 'x p "5"^^xsd:int.'
    ),
    "rdfD2": Case("x p y.", "p rdf:type rdf:Property.", "p q y."),
    "rdfs1": Case(
        'x p "5"^^xsd:integer.', "xsd:integer rdf:type rdfs:Datatype.", 'x p "5"^^xsd:int.'
    ),
    "rdfs2": Case("p rdfs:domain c. x p y.", "x rdf:type c.", "p rdfs:domain c. x q y. y p x."),
    "rdfs3": Case("p rdfs:range c. x p y.", "y rdf:type c.", "p rdfs:range c. y p x. x q y."),
    "rdfs4a": Case("x p y.", "x rdf:type rdfs:Resource.", "z p y."),
    "rdfs4b": Case("x p y.", "y rdf:type rdfs:Resource.", "x p z."),
    "rdfs5": Case(
        "p rdfs:subPropertyOf q. q rdfs:subPropertyOf r.",
        "p rdfs:subPropertyOf r.",
        "p rdfs:subPropertyOf q. r rdfs:subPropertyOf q.",
    ),
    "rdfs6": Case("p rdf:type rdf:Property.", "p rdfs:subPropertyOf p.", "p rdf:type rdfs:Class."),
    "rdfs7": Case("p rdfs:subPropertyOf q. x p y.", "x q y.", "q rdfs:subPropertyOf p. x p y."),
    "rdfs8": Case(
        "c rdf:type rdfs:Class.", "c rdfs:subClassOf rdfs:Resource.", "c rdf:type rdf:Property."
    ),
    "rdfs9": Case(
        "c rdfs:subClassOf d. x rdf:type c.", "x rdf:type d.", "d rdfs:subClassOf c. x rdf:type c."
    ),
    "rdfs10": Case("c rdf:type rdfs:Class.", "c rdfs:subClassOf c.", "c rdf:type rdf:Property."),
    "rdfs11": Case(
        "c rdfs:subClassOf d. d rdfs:subClassOf e.",
        "c rdfs:subClassOf e.",
        "c rdfs:subClassOf d. e rdfs:subClassOf d.",
    ),
    "rdfs12": Case(
        "p rdf:type rdfs:ContainerMembershipProperty.",
        "p rdfs:subPropertyOf rdfs:member.",
        "p rdf:type rdf:Property.",
    ),
    "rdfs13": Case(
        "d rdf:type rdfs:Datatype.", "d rdfs:subClassOf rdfs:Literal.", "d rdf:type rdfs:Class."
    ),
}
