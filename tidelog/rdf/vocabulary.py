"""The vocabulary that separates the ontology (classes and properties) from the data."""

from __future__ import annotations

from tidelog.rdf.profiles import iri

Triple = tuple[str, str, str]

TYPE, SAME, DIFFERENT = iri("rdf:type"), iri("owl:sameAs"), iri("owl:differentFrom")

# Predicates of axioms.
PREDICATES = frozenset(
    iri(f"{prefix}:{name}")
    for prefix, names in {
        "rdf": "first rest",
        "rdfs": "subClassOf subPropertyOf domain range",
        "owl": """allValuesFrom annotatedProperty annotatedSource annotatedTarget
            assertionProperty backwardCompatibleWith cardinality complementOf datatypeComplementOf
            disjointUnionOf disjointWith distinctMembers equivalentClass equivalentProperty hasKey
            hasSelf hasValue imports incompatibleWith intersectionOf inverseOf maxCardinality
            maxQualifiedCardinality members minCardinality minQualifiedCardinality onClass
            onDataRange onDatatype onProperties onProperty oneOf priorVersion propertyChainAxiom
            propertyDisjointWith qualifiedCardinality someValuesFrom sourceIndividual
            targetIndividual targetValue unionOf versionIRI withRestrictions""",
    }.items()
    for name in names.split()
)
# Classes whose members are classes, properties, axioms and the like.
CLASSES = frozenset(
    iri(f"{prefix}:{name}")
    for prefix, names in {
        "rdf": "Property List",
        "rdfs": "Class ContainerMembershipProperty Datatype",
        "owl": """AllDifferent AllDisjointClasses AllDisjointProperties Annotation
            AnnotationProperty AsymmetricProperty Axiom Class DataRange DatatypeProperty
            DeprecatedClass DeprecatedProperty FunctionalProperty InverseFunctionalProperty
            IrreflexiveProperty NegativePropertyAssertion ObjectProperty Ontology
            OntologyProperty ReflexiveProperty Restriction SymmetricProperty
            TransitiveProperty""",
    }.items()
    for name in names.split()
)


def is_schema(triple: Triple) -> bool:
    """Whether a triple belongs to the ontology rather than to the data.

    >>> is_schema(("<c>", iri("rdfs:subClassOf"), "<d>")), is_schema(("<x>", TYPE, "<c>"))
    (True, False)
    """
    _, predicate, object_ = triple
    return predicate in PREDICATES or (predicate == TYPE and object_ in CLASSES)
